/** A plot on the page: canvas, legend, playhead, readout under the pointer, and files. */

import { digits } from "../base/quantity.js";
import { download, fill, h, setText } from "../base/dom.js";
import type { Palette } from "../style/palette.js";
import type { PlotInput, PlotKind } from "./input.js";
import type { Mark, Panel, Plot } from "./model.js";
import { CanvasPen, SvgPen } from "./pen.js";
import { inner, render, type Box } from "./render.js";
import { at, share } from "./ticks.js";
import { lowerBound } from "../sim/series.js";

export interface FigureHost {
  palette(): Palette;
  /** Scale factor of all drawings. */
  scale(): number;
  seek(seconds: number): void;
  zoom(range: [number, number] | null): void;
  /** Called when the user has changed the axis. */
  redraw(): void;
}

const LEGEND_HEIGHT = 22;

export class Figure {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { "aria-hidden": "true" });
  private readonly head = h("div", { class: "playhead" });
  private readonly heads: HTMLElement[] = [];
  private readonly tip = h("div", { class: "tip", hidden: true });
  private readonly stage: HTMLElement;
  private readonly legend = h("div", { class: "legend" });
  private readonly summary = h("p", { class: "sr" });
  private readonly scale: HTMLButtonElement;
  private plot: Plot | null = null;
  private log: boolean | null = null;
  private drag: { panel: number; from: number } | null = null;
  private size: [number, number] = [0, 0];
  /** Whether the plot is in view; others are drawn when scrolled into view. */
  private seen = true;

  constructor(
    readonly kind: PlotKind,
    private readonly host: FigureHost,
  ) {
    this.scale = h("button", { type: "button", class: "small", onclick: () => this.toggleLog() }, "log");
    this.stage = h("div", { class: "plot-stage" }, this.canvas, this.tip);
    const label = `plot-${kind.id}`;
    this.element = h(
      "figure",
      { class: "plot", "data-plot": kind.id, "aria-labelledby": label },
      h(
        "figcaption",
        {},
        h("h3", { id: label }, kind.title),
        h(
          "span",
          { class: "buttons" },
          this.scale,
          h("button", { type: "button", class: "small", onclick: () => void this.savePng() }, "PNG"),
          h("button", { type: "button", class: "small", onclick: () => this.saveSvg() }, "SVG"),
        ),
      ),
      this.legend,
      this.stage,
      this.summary,
    );
    this.stage.addEventListener("pointerdown", event => this.down(event));
    this.stage.addEventListener("pointermove", event => this.move(event));
    this.stage.addEventListener("pointerup", event => this.up(event));
    this.stage.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.stage.addEventListener("dblclick", () => this.host.zoom(null));
    new ResizeObserver(() => this.draw()).observe(this.stage);
    new IntersectionObserver(
      ([entry]) => {
        this.seen = entry!.isIntersecting;
        this.draw();
      },
      { rootMargin: "80px" },
    ).observe(this.stage);
  }

  /** Draws even if out of view, for print. */
  drawAnyway(): void {
    const { seen } = this;
    this.seen = true;
    this.draw();
    this.seen = seen;
  }

  private toggleLog(): void {
    this.log = !this.plot?.log.on;
    this.host.redraw();
  }

  /** Updates the plot; returns whether it has data. */
  update(input: PlotInput): boolean {
    this.plot = this.kind.plot({ ...input, log: this.log });
    this.element.hidden = !this.plot;
    if (!this.plot) return false;
    this.element.classList.toggle("wide", this.plot.panels.length > 1);
    this.scale.hidden = !this.plot.log.offered;
    this.scale.setAttribute("aria-pressed", String(this.plot.log.on));
    setText(this.summary, this.plot.summary);
    const palette = this.host.palette();
    fill(this.legend, ...legend(this.plot).map(mark => key(mark, palette)), this.plot.note ?? null);
    this.size = [0, 0];
    this.draw();
    return true;
  }

  private boxes(width: number, height: number): Box[] {
    const panels = this.plot?.panels ?? [];
    const each = (width - 12 * (panels.length - 1)) / panels.length;
    return panels.map((_, i) => ({ x: i * (each + 12), y: 0, width: each, height }));
  }

  private draw(): void {
    const scale = this.host.scale();
    const [width, height] = [this.stage.clientWidth / scale, this.stage.clientHeight / scale];
    if (!this.plot || !this.seen || !width || (this.size[0] === width && this.size[1] === height)) return;
    this.size = [width, height];
    const ratio = (window.devicePixelRatio || 1) * this.host.scale();
    [this.canvas.width, this.canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const context = this.canvas.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const pen = new CanvasPen(context);
    const boxes = this.boxes(width, height);
    this.plot.panels.forEach((panel, i) => render(panel, pen, boxes[i]!, this.host.palette()));
    while (this.heads.length < boxes.length) {
      const head = this.head.cloneNode() as HTMLElement;
      this.heads.push(head);
      this.stage.append(head);
    }
    this.heads.forEach((head, i) => (head.hidden = !this.plot!.panels[i]?.time));
    this.playhead(this.seconds);
  }

  private seconds = 0;

  /** Moves the playhead's line, without a redraw. */
  playhead(seconds: number): void {
    this.seconds = seconds;
    const { plot, size } = this;
    if (!plot || !size[0]) return;
    this.boxes(...size).forEach((box, i) => {
      const head = this.heads[i];
      const panel = plot.panels[i];
      if (!head || !panel?.time) return;
      const area = inner(box, panel.title !== "");
      const place = share(panel.x, seconds);
      head.hidden = place < 0 || place > 1;
      const scale = this.host.scale();
      head.style.transform = `translate(${((area.x + place * area.width) * scale).toFixed(1)}px, ${area.y * scale}px)`;
      head.style.height = `${area.height * scale}px`;
    });
  }

  /** Panel under the pointer, and its x value there. */
  private under(event: PointerEvent): { panel: number; x: number; left: number } | null {
    const bounds = this.stage.getBoundingClientRect();
    const left = (event.clientX - bounds.left) / this.host.scale();
    const boxes = this.boxes(...this.size);
    const panel = boxes.findIndex(box => left >= box.x && left <= box.x + box.width);
    if (panel < 0 || !this.plot) return null;
    const shown = this.plot.panels[panel]!;
    const area = inner(boxes[panel]!, shown.title !== "");
    const place = Math.min(1, Math.max(0, (left - area.x) / area.width));
    return { panel, x: at(shown.x, place), left };
  }

  private down(event: PointerEvent): void {
    const under = this.under(event);
    this.drag = under && { panel: under.panel, from: under.x };
  }

  private move(event: PointerEvent): void {
    const under = this.under(event);
    if (!under || !this.plot) return;
    const panel = this.plot.panels[under.panel]!;
    this.tip.hidden = false;
    setText(this.tip, readout(panel, under.x));
    const right = under.left > this.size[0] / 2;
    const scale = this.host.scale();
    this.tip.style.left = right ? "" : `${under.left * scale + 12}px`;
    this.tip.style.right = right ? `${(this.size[0] - under.left) * scale + 12}px` : "";
  }

  private up(event: PointerEvent): void {
    const under = this.under(event);
    const { drag } = this;
    this.drag = null;
    if (!under || !drag || !this.plot?.panels[drag.panel]?.time) return;
    const [from, to] = [Math.min(drag.from, under.x), Math.max(drag.from, under.x)];
    const { x } = this.plot.panels[drag.panel]!;
    if (to - from > (x.to - x.from) / 50) this.host.zoom([from, to]);
    else this.host.seek(under.x);
  }

  /** The plot as SVG text, in the current palette. */
  svg(width = 800, height = 340): string {
    const palette = this.host.palette();
    const pen = new SvgPen();
    pen.text(8, 14, this.kind.title, { colour: palette.text, size: 13, bold: true });
    let left = 8;
    for (const mark of legend(this.plot!)) {
      pen.rect(left, 33, 12, 3, palette.ink(mark.ink));
      pen.text(left + 16, 34.5, mark.name, { colour: palette.muted });
      left += 30 + mark.name.length * 6.2;
    }
    const top = 28 + LEGEND_HEIGHT;
    this.boxes(width - 16, height - top).forEach((box, i) =>
      render(this.plot!.panels[i]!, pen, { ...box, x: box.x + 8, y: top }, palette),
    );
    return pen.toString(width, height, palette.background, this.kind.title);
  }

  private saveSvg(): void {
    download(`sojourn-${this.kind.id}.svg`, this.svg(), "image/svg+xml");
  }

  private async savePng(): Promise<void> {
    const png = await toPng(this.svg());
    download(`sojourn-${this.kind.id}.png`, png, "image/png");
  }
}

/** Renders SVG text as PNG at twice the resolution. */
export async function toPng(svg: string): Promise<Blob> {
  const image = new Image();
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width * 2, image.height * 2];
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob(blob => (blob ? resolve(blob) : reject(new Error("the browser made no PNG"))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Marks for the legend, one per name, measured ones first. */
function legend(plot: Plot): Mark[] {
  const seen = new Set<string>();
  const order = (mark: Mark): number => (mark.kind === "line" || mark.kind === "points" ? 0 : 1);
  return plot.panels
    .flatMap(panel => panel.marks)
    .sort((one, two) => order(one) - order(two))
    .filter(mark => mark.name && !seen.has(mark.name) && seen.add(mark.name));
}

function key(mark: Mark, palette: Palette): HTMLElement {
  const swatch = h("i", { class: `swatch ${mark.kind}` });
  swatch.style.setProperty("--ink", palette.ink(mark.ink));
  return h("span", {}, swatch, mark.name);
}

/** The values at `x`, as one line. */
function readout(panel: Panel, x: number): string {
  const parts = [`${panel.x.label.split(",")[0]} ${digits(x, 4)} ${panel.x.label.split(", ")[1] ?? ""}`.trim()];
  const lines = panel.marks.filter(mark => mark.kind === "line" && mark.name);
  for (const mark of lines.slice(0, 6)) {
    if (mark.kind !== "line") continue;
    const { points } = mark;
    const i = Math.min(points.x.length - 1, lowerBound(points.x, x));
    if (i >= 0) parts.push(`${mark.name} ${digits(points.y[i]!, 3)}`);
  }
  return parts.join(" · ");
}
