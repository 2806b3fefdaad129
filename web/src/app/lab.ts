/** The page: layout, animation clock, keyboard and files. */

import { h } from "../base/dom.js";
import { Session } from "./session.js";
import { linkPath, SIDES, type Side } from "../model/state.js";
import { encode } from "../model/url.js";
import { presetState } from "../model/presets.js";
import { set } from "../model/doc.js";
import { published } from "../papers/index.js";
import { Controls } from "../panels/controls.js";
import { Guide } from "../panels/guide.js";
import { Header } from "../panels/header.js";
import { PacketPanel } from "../panels/packet.js";
import { Results } from "../panels/results.js";
import { SidePanel } from "../panels/side.js";
import { Transport } from "../panels/transport.js";
import { Figure } from "../plots/figure.js";
import { PLOTS } from "../plots/index.js";
import type { PlotInput } from "../plots/input.js";
import { PALETTES } from "../style/palette.js";
import { saveAll } from "./pictures.js";

/** Seconds that a run takes at the fastest speed. */
const FASTEST_S = 2;
/** Interval in ms between snapshots of the queues during playback. */
const SNAPSHOT_MS = 100;

export interface LabHost {
  /** URL of a state, from its encoded hash. */
  address(hash: string): string;
  theme(theme: "light" | "dark"): void;
  /** Target of the `keydown` listener; null for the lab element itself. */
  keys: EventTarget | null;
}

export class Lab {
  readonly element: HTMLElement;
  private readonly sides: Record<Side, SidePanel>;
  private readonly figures: Figure[];
  private readonly header: Header;
  private readonly controls: Controls;
  private frame = 0;
  private last = 0;
  private snapshotAt = 0;

  constructor(
    readonly session: Session,
    private readonly host: LabHost,
  ) {
    this.header = new Header(session, {
      toggleTheme: () => this.setTheme(session.theme === "light" ? "dark" : "light"),
      address: () => host.address(encode(session.state, presetState)),
      openFile: file => void this.open(file),
      savePicture: () => void saveAll(this.figures, PALETTES[session.theme]),
    });
    this.sides = { a: new SidePanel(session, "a"), b: new SidePanel(session, "b") };
    this.controls = new Controls(session);
    const figureHost = {
      palette: () => PALETTES[session.theme],
      scale: () => this.scale,
      seek: (seconds: number) => {
        session.play(false);
        session.seek(seconds * 1e9);
      },
      zoom: (range: [number, number] | null) => {
        session.update({ zoom: range });
        this.plot();
      },
      redraw: () => this.plot(),
    };
    this.figures = PLOTS.map(kind => new Figure(kind, figureHost));
    const guide = new Guide(session);
    this.element = h(
      "div",
      { class: "lab" },
      this.header.element,
      guide.element,
      this.controls.element,
      h(
        "main",
        {},
        new Transport(session).element,
        h("div", { class: "sides" }, this.sides.a.element, this.sides.b.element),
        new PacketPanel(session).element,
        h("div", { class: "plots" }, ...this.figures.map(figure => figure.element)),
        new Results(session).element,
      ),
    );
    new ResizeObserver(() => this.rescale()).observe(this.element);
    window.addEventListener("beforeprint", this.beforePrint);
    session.on(["runs", "theme"], () => this.plot());
    session.on(["time", "runs"], () => this.moveHeads());
    session.on(["time"], () => this.drawSides());
    session.on(["state"], () => this.schedule());
    this.listen();
  }

  /** Scale factor of all drawings, from the font size; 1 at 14 px. */
  private scale = 1;

  private rescale(): void {
    const size = parseFloat(getComputedStyle(this.element).fontSize) || 14;
    const scale = size / 14;
    if (scale === this.scale) return;
    this.scale = scale;
    for (const side of SIDES) this.sides[side].rescale(scale);
    this.drawSides();
  }

  private readonly beforePrint = (): void => {
    for (const figure of this.figures) figure.drawAnyway();
  };

  private listen(): void {
    const { session } = this;
    // The drag is over; the next change gets its own time.
    this.element.addEventListener("change", () => (session.drag_ns = null));
    this.host.keys?.addEventListener("keydown", this.pressed);
    if (!this.host.keys) this.element.addEventListener("keydown", this.pressed);
    this.element.addEventListener("dragover", event => event.preventDefault());
    this.element.addEventListener("drop", event => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file) void this.open(file);
    });
  }

  setTheme(theme: "light" | "dark"): void {
    this.session.theme = theme;
    this.host.theme(theme);
    this.session.notify("theme");
  }

  /** Opens a scenario, or a trace, which replaces the link's rate. */
  async open(file: File): Promise<void> {
    const { session } = this;
    try {
      if (/\.(toml|json)$/.test(file.name)) {
        session.openText(await file.text());
        return;
      }
      session.files = { ...session.files, [file.name]: new Uint8Array(await file.arrayBuffer()) };
      const path = linkPath(session.state.doc);
      session.update(state => ({
        ...state,
        changes: [],
        doc: set(set(state.doc, `${path}.rate`, undefined), `${path}.trace`, file.name),
      }));
    } catch (error) {
      this.header.showError(error instanceof Error ? error.message : String(error));
    }
  }

  private input(): PlotInput {
    const { session } = this;
    return {
      runs: session.runs,
      names: { a: session.name("a"), b: session.name("b") },
      targets: { a: this.sides.a.target_ms(), b: this.sides.b.target_ms() },
      zoom: session.state.zoom,
      published: session.state.paper ? published(session.state.paper) : [],
      log: null,
    };
  }

  /** Whether a redraw of the plots is already scheduled for the next frame. */
  private plotting = false;
  private plot(): void {
    if (this.plotting || !this.session.registry) return;
    this.plotting = true;
    requestAnimationFrame(() => {
      this.plotting = false;
      const input = this.input();
      this.fillRows(this.figures.filter(figure => figure.update(input)));
      this.moveHeads();
      this.element.dataset["drawn"] = String(Number(this.element.dataset["drawn"] ?? 0) + 1);
    });
  }

  /** Widens the last plot to fill its row; the first one spans two columns. */
  private fillRows(shown: Figure[]): void {
    const last = shown[shown.length - 1];
    for (const { element } of shown) delete element.dataset["of2"];
    if (!last || shown.length < 3) return;
    last.element.dataset["of2"] = String(1 + ((shown.length - 1) % 2));
    last.element.dataset["of3"] = String([1, 3, 2][(shown.length - 2) % 3]);
  }

  private moveHeads(): void {
    const seconds = this.session.state.at_ns / 1e9;
    for (const figure of this.figures) figure.playhead(seconds);
  }

  private drawSides(): void {
    for (const side of SIDES) this.sides[side].draw();
  }

  private schedule(): void {
    if (!this.session.playing || this.frame) return;
    this.last = performance.now();
    this.frame = requestAnimationFrame(now => this.tick(now));
  }

  /** Draws one frame of the animation. */
  private tick(now: number): void {
    this.frame = 0;
    const { session } = this;
    if (!session.playing) return;
    // `now` may be earlier than `last`: the frame may have started before the button was pressed.
    const passed = Math.max(0, Math.min(100, now - this.last));
    this.last = now;
    const { speed, at_ns } = session.state;
    const duration = session.duration_ns;
    const pace = Number.isFinite(speed) ? speed : duration / 1e9 / FASTEST_S;
    const at = Math.min(duration, at_ns + passed * 1e6 * pace);
    session.state = { ...session.state, at_ns: Math.round(at) };
    session.notify("time");
    if (now - this.snapshotAt > SNAPSHOT_MS) {
      this.snapshotAt = now;
      session.requestSnapshots();
    }
    if (at >= duration) session.play(false);
    else this.frame = requestAnimationFrame(next => this.tick(next));
  }

  private readonly pressed = (event: Event): void => this.key(event as KeyboardEvent);

  private key(event: KeyboardEvent): void {
    const target = event.composedPath()[0] as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const takesText = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
    if (takesText || (event.key === " " && /^(BUTTON|SUMMARY)$/.test(target.tagName))) return;
    const actions: Record<string, () => void> = {
      " ": () => this.session.play(!this.session.playing),
      ArrowRight: () => this.session.step(1),
      ArrowLeft: () => this.session.step(-1),
      Home: () => this.session.seek(0),
      End: () => this.session.seek(this.session.duration_ns),
      Escape: () => this.session.select(null),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  close(): void {
    cancelAnimationFrame(this.frame);
    window.removeEventListener("beforeprint", this.beforePrint);
    this.host.keys?.removeEventListener("keydown", this.pressed);
    this.session.close();
  }
}
