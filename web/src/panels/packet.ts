/** The selected packet: its data, and the reason of its fate. */

import { fill, h } from "../base/dom.js";
import type { Session } from "../app/session.js";
import { FATES } from "../view/fates.js";
import { facts, why } from "../view/why.js";
import { inspectorInput } from "./side.js";

export class PacketPanel {
  readonly element: HTMLElement;

  constructor(private readonly session: Session) {
    this.element = h("section", { class: "packet", hidden: true, "aria-live": "polite", "aria-label": "Packet" });
    session.on(["selection", "snapshot", "runs"], () => this.update());
  }

  private update(): void {
    const { session } = this;
    const { selection, before } = session;
    const run = selection && session.runs[selection.side];
    this.element.hidden = !run;
    if (!run || !selection) return;
    const input = before && inspectorInput(session, selection.side, before);
    const fate = FATES[run.packets.fate[selection.row]!] ?? "waiting";
    fill(
      this.element,
      h("h3", {}, `Queue ${selection.side.toUpperCase()}: ${fate}`),
      h("p", {}, why(run, selection.row, input)),
      h(
        "dl",
        {},
        ...facts(run, selection.row).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
      ),
      h("button", { type: "button", class: "small", onclick: () => session.select(null) }, "close"),
    );
  }
}
