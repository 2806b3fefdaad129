/** Draws the queue, the link and the acknowledgment path at a time on a canvas. */

import { CanvasPen } from "../plots/pen.js";
import { digits } from "../base/quantity.js";
import { h, setText } from "../base/dom.js";
import type { Palette } from "../style/palette.js";
import { isDrop, MARKED } from "../sim/packets.js";
import type { SideRun } from "../sim/run.js";
import { LinkView } from "./link.js";
import { rows, type Layout } from "./rows.js";

export interface Scene {
  run: SideRun;
  at: number;
  /** Backlog in ms represented by the width of the queue. */
  span_ms: number;
  /** Backlog in ms at which the buffer is full; null if unlimited. */
  buffer_ms: number | null;
  /** Duration of a dropped packet's fall, in simulated ns. */
  fall: number;
  layout: Layout;
  /** Target in ms; null if the queue manager has none. */
  target: number | null;
  /** Rows of highlighted packets. */
  selected: number | null;
  first: number | null;
  palette: Palette;
}

interface Drawn {
  x: number;
  y: number;
  width: number;
  height: number;
  row: number;
}

/** Maximum number of falling packets drawn. */
const MAX_FALLING = 80;
const HEIGHT = 208;

export class QueueView {
  readonly canvas: HTMLCanvasElement;
  readonly element: HTMLElement;
  private readonly words = h("p", { class: "sr" });
  private drawn: Drawn[] = [];
  private links = new WeakMap<SideRun, LinkView>();
  private width = 0;
  private ratio = 1;

  constructor(label: string, pick: (row: number) => void) {
    this.canvas = h("canvas", { role: "img", "aria-label": `Queue ${label}, link and acknowledgments` });
    this.element = h("div", { class: "queue" }, this.canvas, this.words);
    this.canvas.addEventListener("click", event => {
      const row = this.hit(event.offsetX / this.scale, event.offsetY / this.scale);
      if (row !== null) pick(row);
    });
    new ResizeObserver(() => this.fit()).observe(this.element);
  }

  private scale = 1;

  /** Sets the scale factor of the drawing. */
  rescale(scale: number): void {
    this.scale = scale;
    this.fit();
  }

  private fit(): void {
    this.ratio = (window.devicePixelRatio || 1) * this.scale;
    this.width = this.element.clientWidth / this.scale;
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(HEIGHT * this.ratio);
    const height = `${HEIGHT * this.scale}px`;
    this.element.style.height = height;
    this.canvas.style.height = height;
    if (this.scene && this.width) this.draw(this.scene);
  }

  private scene: Scene | null = null;

  link(run: SideRun): LinkView {
    let link = this.links.get(run);
    if (!link) this.links.set(run, (link = new LinkView(run)));
    return link;
  }

  private hit(x: number, y: number): number | null {
    const near = (drawn: Drawn): number =>
      Math.max(drawn.x - x, 0, x - drawn.x - drawn.width) + Math.max(drawn.y - y, 0, y - drawn.y - drawn.height);
    const best = [...this.drawn]
      .reverse()
      .reduce<[number, Drawn | null]>(
        (found, drawn) => (near(drawn) < found[0] ? [near(drawn), drawn] : found),
        [8, null],
      )[1];
    return best?.row ?? null;
  }

  /** Sets the text for screen readers; not called for every frame. */
  describe(text: string): void {
    setText(this.words, text);
  }

  draw(scene: Scene): void {
    this.scene = scene;
    const context = this.canvas.getContext("2d");
    if (!context || !this.width) return;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, HEIGHT);
    this.drawn = [];
    this.canvas.dataset["span"] = String(scene.span_ms);
    this.canvas.dataset["buffer"] = scene.buffer_ms === null ? "" : digits(scene.buffer_ms, 4);
    new Drawing(context, this.width, scene, this.link(scene.run), this.drawn).all();
  }
}

/** One frame. */
class Drawing {
  private readonly pen: CanvasPen;
  private readonly left = 10;
  /** X coordinate at which the queue ends and the link starts. */
  private readonly server: number;
  private readonly right: number;
  private readonly top = 22;
  private readonly bottom = 122;
  private readonly ackY = HEIGHT - 18;
  /** Pixels per ms of backlog. */
  private readonly scale: number;
  private readonly rate: number;
  private tail = 0;

  constructor(
    private readonly context: CanvasRenderingContext2D,
    width: number,
    private readonly scene: Scene,
    private readonly link: LinkView,
    private readonly drawn: Drawn[],
  ) {
    this.pen = new CanvasPen(context);
    this.server = Math.round(width * 0.66);
    this.right = width - 10;
    this.scale = (this.server - this.left) / scene.span_ms;
    this.rate = link.rate(scene.at);
  }

  all(): void {
    this.ground();
    this.waiting();
    this.bufferEnd();
    this.onLink();
    this.acks();
    this.falling();
  }

  /** Transmission time of a packet at the link's rate, in ms. */
  private ms(row: number): number {
    return (this.scene.run.packets.bytes[row]! * 8e3) / this.rate;
  }

  private ground(): void {
    const { pen, scene, left, server, right, top, bottom } = this;
    const { palette, span_ms } = scene;
    const full = server - Math.min(scene.buffer_ms ?? Infinity, span_ms) * this.scale;
    pen.rect(full, top, server - full, bottom - top, palette.track);
    const middle = (top + bottom) / 2;
    pen.rect(server, middle - 11, right - server, 22, palette.track);
    pen.text(left, 10, "queue", { colour: palette.muted });
    pen.text(right, 10, "link", { colour: palette.muted, anchor: "end" });
    const step = span_ms / 5;
    for (let i = 0; i <= 5; i++) {
      const x = server - i * step * this.scale;
      pen.polyline([x, x], [bottom, bottom + 4], { colour: palette.muted });
      const text = digits(i * step, 3);
      pen.text(x, bottom + 7, text, { colour: palette.muted, anchor: i === 5 ? "start" : "middle", baseline: "top" });
    }
    pen.text(server - 8, 10, "backlog at the link's rate, ms", { colour: palette.muted, anchor: "end" });
    pen.polyline([left, right], [this.ackY, this.ackY], { colour: palette.grid, width: 2 });
    pen.text(left, this.ackY + 11, "← acknowledgments", { colour: palette.muted });
    if (scene.target && scene.target < span_ms) {
      const x = server - scene.target * this.scale;
      pen.polyline([x, x], [top - 6, bottom + 4], { colour: palette.target, width: 1.5, dash: [5, 3] });
    }
  }

  /** Draws the end of the buffer: a wall, or a text if it is outside the drawing. */
  private bufferEnd(): void {
    const { pen, scene, left, server, top, bottom } = this;
    const { palette, span_ms, buffer_ms } = scene;
    if (buffer_ms === null) return;
    const isNear = buffer_ms <= span_ms;
    const x = isNear ? server - buffer_ms * this.scale : left;
    const ms = `${digits(buffer_ms, 3)} ms`;
    const text = isNear ? `buffer ends, ${ms}` : `← buffer ends at ${ms}`;
    if (isNear)
      pen.polyline([x + 6, x, x, x + 6], [top - 4, top - 4, bottom, bottom], { colour: palette.text, width: 2.5 });
    pen.text(Math.max(left, x - 3), bottom + 27, text, { colour: palette.text });
  }

  private waiting(): void {
    const { scene, left, server, top, bottom, pen } = this;
    const { run, palette } = scene;
    const all = rows(run, run.index.waiting(scene.at), scene.layout);
    const each = (bottom - top) / all.length;
    const height = Math.min(44, each - (all.length > 1 ? 2 : 0) - 4);
    all.forEach(({ label, packets }, i) => {
      const y = top + i * each + (each - height) / 2;
      let x = server - 2;
      let more = 0;
      for (const row of packets) {
        const width = this.ms(row) * this.scale;
        x -= width;
        if (x + width < left) {
          more++;
          continue;
        }
        const from = Math.max(left, x);
        this.packet(row, from, y, Math.max(0.7, x + width - from - (width > 3 ? 1 : 0)), height);
      }
      if (i === 0 || x < this.tail) this.tail = Math.max(left, x);
      const labelInk = { colour: palette.text, bold: true, baseline: "middle" } as const;
      if (more) {
        pen.rect(left, y, 54, height, palette.background, 0.8);
        pen.text(left + 4, y + height / 2, `+ ${more}`, labelInk);
      } else if (label) {
        const colour = /^\d+$/.test(label) ? palette.flow(Number(label)) : palette.text;
        pen.text(left + 4, y + height / 2, label, { ...labelInk, colour });
      }
      if (all.length > 1 && i > 0) {
        const line = top + i * each;
        pen.polyline([left, server], [line, line], { colour: palette.background, width: 1.5 });
      }
    });
  }

  private packet(row: number, x: number, y: number, width: number, height: number, alpha = 1): void {
    const { scene, pen, context } = this;
    const { palette, run } = scene;
    const flow = run.packets.flow[row]!;
    pen.rect(x, y, width, height, palette.flow(flow), alpha);
    if (width > 15 && height > 12)
      pen.text(x + width / 2, y + height / 2, String(flow), {
        colour: palette.onFlow(flow),
        anchor: "middle",
        bold: true,
      });
    if (row === scene.selected || row === scene.first) {
      context.lineWidth = 2;
      context.setLineDash(row === scene.selected ? [] : [3, 2]);
      context.strokeStyle = palette.text;
      context.strokeRect(x - 2, y - 2, Math.max(4, width) + 4, height + 4);
    }
    this.drawn.push({ x, y, width, height, row });
  }

  /** Draws the packets in transmission and in propagation. */
  private onLink(): void {
    const { scene, server, right, top, bottom } = this;
    const { run, at, palette } = scene;
    const { time, fate } = run.packets;
    const delay = this.link.delay(at);
    const middle = (top + bottom) / 2;
    const start = server + 16;
    const longest = (9000 * 8e9) / Math.max(this.rate, 1e4);
    const [first, last] = run.index.ended(at - delay - longest, at);
    for (let row = first; row < last; row++) {
      if (fate[row]! > MARKED) continue;
      const sending = this.ms(row) * 1e6;
      const age = at - time[row]!;
      const length = Math.max(2.5, Math.min(40, (sending / delay) * (right - start)));
      // Its head leaves the server at once, its tail when the transmission ends.
      const front = start + (age / delay) * (right - start);
      const x = Math.min(right, front) - Math.min(length, front - server);
      if (x >= right) continue;
      this.packet(
        row,
        Math.max(server + 2, x),
        middle - 9,
        Math.max(1.5, Math.min(right, front) - Math.max(server + 2, x)),
        18,
      );
      if (fate[row] === MARKED) this.notch(Math.max(server + 2, x), middle - 9, palette.mark);
    }
    this.pen.rect(server - 1, middle - 16, 3, 32, palette.text);
  }

  private notch(x: number, y: number, colour: string): void {
    const { context } = this;
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(x - 3, y - 7);
    context.lineTo(x + 6, y - 7);
    context.lineTo(x + 1.5, y + 2);
    context.fill();
  }

  private acks(): void {
    const { scene, left, right, ackY, pen } = this;
    const { run, at, palette } = scene;
    const { flow, time } = run.reverse.packets;
    const delay = this.link.backDelay(at);
    const [first, last] = run.reverse.ended(at - delay, at);
    // Draw at most one per two pixels.
    const step = Math.max(1, Math.ceil((last - first) / ((right - left) / 2)));
    for (let row = first; row < last; row += step) {
      const x = right - ((at - time[row]!) / delay) * (right - left);
      pen.rect(x - 1, ackY - 5, 2.5, 10, palette.flow(flow[row]!), 0.85);
    }
  }

  /** Draws dropped packets falling: from the head if dropped there, else from the tail. */
  private falling(): void {
    const { scene, server, bottom, context, tail, left } = this;
    const { run, at, fall, palette } = scene;
    const { time, fate } = run.packets;
    const [first, last] = run.index.ended(at - fall, at);
    let seen = 0;
    for (let row = last - 1; row >= first && seen < MAX_FALLING; row--) {
      if (!isDrop(fate[row]!)) continue;
      seen++;
      const age = (at - time[row]!) / fall;
      const atHead = fate[row] === 4;
      const x = atHead ? server - 16 : Math.max(left, tail - 14);
      const y = bottom - 26 + age * age * 70;
      this.packet(row, x + (atHead ? age * 14 : -age * 6), y, 11, 16, 1 - age * 0.8);
      context.globalAlpha = 1 - age * 0.8;
      context.strokeStyle = palette.drop;
      context.setLineDash([]);
      context.lineWidth = 2;
      const [px, py] = [x + (atHead ? age * 14 : -age * 6), y];
      context.strokeRect(px, py, 11, 16);
      context.globalAlpha = 1;
    }
  }
}
