/** Panel of one of the two queues: its manager, its packets, its state. */

import { digits } from "../base/quantity.js";
import { fill, h, setText } from "../base/dom.js";
import { aqmAt } from "../app/edit.js";
import type { Session } from "../app/session.js";
import type { QueueSnapshot } from "../sim/protocol.js";
import { parseAqm, valueOf } from "../model/aqm.js";
import { parseQuantity } from "../base/quantity.js";
import type { Side } from "../model/state.js";
import { inspect } from "../inspectors/index.js";
import type { Line, InspectorInput } from "../inspectors/inspector.js";
import { after, isDrop, MARKED } from "../sim/packets.js";
import { QueueView } from "../view/queue.js";
import { PALETTES } from "../style/palette.js";
import { Params } from "./params.js";
import { bufferMs, spanMs, targetMs } from "./scale.js";

/** Duration of a dropped packet's fall, in s of wall-clock time. */
const FALL_S = 0.8;
/** Maximum number of flows in the table. */
const MAX_PARTS = 12;

/** Input of an inspector: a snapshot, and the queue manager's parameters. */
export function inspectorInput(session: Session, side: Side, snapshot: QueueSnapshot): InspectorInput {
  const { registry, state } = session;
  const aqm = parseAqm(aqmAt(state, side), registry);
  const run = session.runs[side];
  const param = (name: string): string => (aqm ? valueOf(aqm, name, registry) : "");
  const value = (name: string): number => {
    const text = param(name);
    const time = parseQuantity(text, "time");
    return time !== null ? time / 1e9 : (parseQuantity(text, "bytes") ?? Number(text || NaN));
  };
  let sojourn_ms = NaN;
  if (run) {
    const { time, sojourn, fate } = run.packets;
    let row = after(time, snapshot.at_ns) - 1;
    while (row >= 0 && isDrop(fate[row]!)) row--;
    if (row >= 0) sojourn_ms = sojourn[row]! / 1e6;
  }
  const { state: variables, parts, backlog_packets } = snapshot.link;
  const name = aqm?.name ?? "";
  return { name, state: variables, parts, now: snapshot.at_ns / 1e9, sojourn_ms, backlog_packets, param, value };
}

export class SidePanel {
  readonly element: HTMLElement;
  readonly params: Params;
  private readonly view: QueueView;
  private readonly lines = h("dl", { class: "inspector" });
  private readonly parts = h("div", { class: "parts" });
  private readonly now = h("p", { class: "now" });
  private readonly mark: HTMLButtonElement;
  private announcedAt = 0;

  constructor(
    private readonly session: Session,
    private readonly side: Side,
  ) {
    const letter = side.toUpperCase();
    this.params = new Params(session, side);
    this.view = new QueueView(letter, row => session.select({ side, row }));
    const button = (text: string, matches: (fate: number) => boolean): HTMLButtonElement =>
      h("button", { type: "button", class: "small", onclick: () => this.last(matches) }, text);
    this.mark = button("Last mark: why?", fate => fate === MARKED);
    this.element = h(
      "section",
      { class: `side side-${side}`, "aria-label": `Queue ${letter}` },
      h("header", {}, h("span", { class: "letter" }, letter), this.params.element),
      this.view.element,
      h("div", { class: "under" }, this.now, this.mark, button("Last drop: why?", isDrop)),
      h("h3", { class: "sr" }, `State of queue manager ${letter}`),
      this.lines,
      this.parts,
    );
    session.on(["snapshot", "runs"], () => this.inspect());
    session.on(["runs", "selection", "theme"], () => this.draw());
  }

  /** Selects the last packet up to the playhead whose fate matches. */
  private last(matches: (fate: number) => boolean): void {
    const run = this.session.runs[this.side];
    if (!run) return;
    const { time, fate } = run.packets;
    let row = after(time, this.session.state.at_ns) - 1;
    while (row >= 0 && !matches(fate[row]!)) row--;
    if (row >= 0) this.session.select({ side: this.side, row });
    else setText(this.now, "there was none so far");
  }

  /** Draws the queue at the playhead. */
  draw(): void {
    const { session, side } = this;
    const run = session.runs[side];
    if (!run || !session.registry) return;
    const { at_ns, speed } = session.state;
    const { selection, first } = session;
    this.view.draw({
      run,
      at: at_ns,
      span_ms: spanMs(session, side),
      buffer_ms: bufferMs(session, side, this.view.link(run).rate(at_ns)),
      fall: FALL_S * 1e9 * (Number.isFinite(speed) ? speed : 10),
      layout: session.layout(side),
      target: this.target_ms(),
      selected: selection?.side === side ? selection.row : null,
      first: first?.[side] ?? null,
      palette: PALETTES[session.theme],
    });
    const now = performance.now();
    if (session.playing && now - this.announcedAt < 200) return;
    this.announcedAt = now;
    const waiting = run.index.waiting(at_ns).length;
    const rate = this.view.link(run).rate(at_ns);
    this.mark.hidden = run.marks.length === 0;
    if (at_ns > run.outcome.kept_ns) {
      setText(
        this.now,
        `packets are kept up to ${(run.outcome.kept_ns / 1e9).toFixed(0)} s; a shorter run is shown completely`,
      );
      return;
    }
    setText(this.now, `${waiting} waiting · link ${digits(rate / 1e6, 3)} Mbit/s`);
    this.view.describe(`At ${(at_ns / 1e9).toFixed(3)} s ${waiting} packets wait in queue ${side.toUpperCase()}.`);
  }

  rescale(scale: number): void {
    this.view.rescale(scale);
  }

  target_ms(): number | null {
    return targetMs(this.session, this.side);
  }

  private inspect(): void {
    const snapshot = this.session.snapshots[this.side];
    if (!snapshot || !this.session.runs[this.side]) return;
    const input = inspectorInput(this.session, this.side, snapshot);
    show(this.lines, inspect(input));
    const { parts } = input;
    fill(this.parts, parts.length ? partsTable(parts, PALETTES[this.session.theme].flow) : null);
  }
}

/** Renders lines into a list, reusing its elements. */
function show(list: HTMLElement, lines: Line[]): void {
  while (list.children.length > lines.length) list.lastElementChild!.remove();
  while (list.children.length < lines.length)
    list.append(
      h(
        "div",
        {},
        h("dt", {}),
        h("dd", {}, h("b", {}), h("span", { class: "bar", "aria-hidden": "true" }, h("i"), h("u")), h("small", {})),
      ),
    );
  lines.forEach((line, i) => {
    const item = list.children[i]!;
    const [name, value, bar, note] = [
      item.querySelector("dt")!,
      item.querySelector("b")!,
      item.querySelector<HTMLElement>(".bar")!,
      item.querySelector("small")!,
    ];
    setText(name, line.name);
    setText(value, line.value);
    setText(note, line.note ?? "");
    bar.hidden = !line.bar;
    if (!line.bar) return;
    bar.dataset["tone"] = line.bar.tone ?? "calm";
    bar.querySelector("i")!.style.transform = `scaleX(${line.bar.share.toFixed(3)})`;
    const mark = bar.querySelector("u")!;
    mark.hidden = line.bar.mark === undefined;
    mark.style.left = `${(line.bar.mark ?? 0) * 100}%`;
  });
}

/** Table of the inner queues: flows with their deficits, or L and C. */
function partsTable(parts: InspectorInput["parts"], colour: (flow: number) => string): HTMLElement {
  const busy = [...parts].sort((one, two) => two.packets - one.packets).slice(0, MAX_PARTS);
  busy.sort((one, two) => one.number - two.number);
  const hasDeficit = busy.some(part => part.deficit !== null);
  const row = (part: (typeof parts)[number]): HTMLElement => {
    const dot = h("i", { class: "dot" });
    if (part.flow !== null) dot.style.setProperty("--ink", colour(part.flow));
    const name = part.kind === "flow" ? (part.flow === null ? "–" : `${part.flow}`) : part.kind;
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, part.kind === "flow" ? dot : null, name),
      h("td", {}, part.list || "–"),
      h("td", {}, part.packets),
      hasDeficit ? h("td", {}, part.deficit === null ? "–" : part.deficit) : null,
      h("td", {}, part.state["count"] ?? "–"),
    );
  };
  const heads = [
    parts[0]!.kind === "flow" ? "flow" : "queue",
    "list",
    "packets",
    ...(hasDeficit ? ["deficit, B"] : []),
    "count",
  ];
  return h(
    "table",
    {},
    h("thead", {}, h("tr", {}, ...heads.map(head => h("th", { scope: "col" }, head)))),
    h("tbody", {}, ...busy.map(row)),
  );
}
