/** Controls of the link, the traffic and the run. */

import type { Json } from "../model/doc.js";
import { get, set } from "../model/doc.js";
import { fill, h } from "../base/dom.js";
import { formatTime } from "../base/quantity.js";
import { canChangeFromNow, setKey } from "../app/edit.js";
import type { Session } from "../app/session.js";
import { linkPath } from "../model/state.js";
import type { Range } from "./field.js";
import { BUFFER, COUNT, DELAY, DURATION, keyField, PERIOD, RATE, RTT, SEED, SIZE, type BoundField } from "./keys.js";

/** Kinds of traffic that can be added, as entries of `[[flows]]`. */
const KINDS: { label: string; flow: { [key: string]: Json } }[] = [
  { label: "Downloads", flow: { kind: "tcp", count: 1, rtt: "40 ms" } },
  { label: "Call", flow: { kind: "voice", rtt: "40 ms" } },
  { label: "Web page", flow: { kind: "web", interval: "2 s", size: "800 kB", rtt: "40 ms" } },
  { label: "Game", flow: { kind: "cbr", rate: "80 kbit/s", size: "160 B", rtt: "40 ms" } },
];

/** Headings of the kinds of flows. */
const NAMES: Record<string, string> = {
  tcp: "Downloads (TCP)",
  voice: "Calls",
  web: "Web pages",
  cbr: "Constant rate",
  media: "Video calls",
  browser: "Browser",
  video: "Video players",
};

export class Controls {
  readonly element: HTMLElement;
  private readonly link = h("div", { class: "fields" });
  private readonly groups = h("div", { class: "groups" });
  private readonly changes = h("ul", { class: "changes" });
  private readonly scope: HTMLInputElement;
  private readonly shown: BoundField[] = [];
  private readonly also: (() => void)[] = [];
  private built = "";

  constructor(private readonly session: Session) {
    this.scope = h("input", { type: "checkbox" });
    this.scope.addEventListener("change", () => {
      session.fromNow = this.scope.checked;
      this.update();
    });
    const drop = h(
      "p",
      { class: "drop" },
      "Drop a trace of delivery opportunities here, or anywhere on the page, to make it the link.",
    );
    const add = KINDS.map(({ label, flow }) =>
      h("button", { type: "button", class: "small", onclick: () => this.add(flow) }, `+ ${label}`),
    );
    this.element = h(
      "section",
      { class: "controls", "aria-label": "Scenario" },
      h("h2", {}, "Scenario"),
      h("label", { class: "check scope" }, this.scope, "change from the playhead on"),
      h("h3", {}, "Link"),
      this.link,
      drop,
      h("h3", {}, "Traffic"),
      this.groups,
      h("div", { class: "add" }, ...add),
      h("h3", {}, "Changes while it runs"),
      this.changes,
    );
    session.on(["state"], () => this.update());
  }

  private add(flow: { [key: string]: Json }): void {
    const flows = this.session.state.doc["flows"];
    this.session.update(state => ({
      ...state,
      doc: set(state.doc, "flows", [...(Array.isArray(flows) ? flows : []), flow]),
    }));
  }

  private field(label: string, path: string, range: Range, fallback: string, hint = ""): HTMLElement {
    const bound = keyField(this.session, { label, path, range, fallback, hint });
    this.shown.push(bound);
    return bound.field.element;
  }

  update(): void {
    const { state } = this.session;
    const flows = Array.isArray(state.doc["flows"]) ? state.doc["flows"] : [];
    const kinds = flows.map(flow => get(flow, "kind"));
    const key = JSON.stringify([
      kinds,
      linkPath(state.doc),
      get(state.doc, `${linkPath(state.doc)}.trace`) ?? null,
      state.doc["wlan"] !== undefined,
    ]);
    if (key !== this.built) this.build(flows, state.doc["wlan"] !== undefined);
    this.built = key;
    for (const { show } of this.shown) show();
    for (const show of this.also) show();
    this.scope.checked = this.session.fromNow;
    this.scope.parentElement!.hidden = !canChangeFromNow(state);
    this.showChanges();
  }

  private build(flows: Json[], wlan: boolean): void {
    this.shown.length = 0;
    this.also.length = 0;
    const path = linkPath(this.session.state.doc);
    const trace = get(this.session.state.doc, `${path}.trace`);
    const serves =
      typeof trace === "string"
        ? h("p", { class: "trace" }, "served by the trace ", h("code", {}, trace), " ", this.dropTrace(path))
        : wlan
          ? h("p", {}, "served by a wireless LAN")
          : this.field(
              "rate",
              `${path}.rate`,
              RATE,
              "10 Mbit/s",
              "Rate of the bottleneck. A text may have steps: 20 Mbit/s@0s,2 Mbit/s@10s",
            );
    fill(
      this.link,
      serves,
      wlan ? null : this.field("delay", `${path}.delay`, DELAY, "0 s", "Propagation delay of the link, one way"),
      this.field("buffer", `${path}.limit`, BUFFER, "1000 packets", "Most packets that may wait"),
      this.field("duration", "duration", DURATION, "60 s"),
      this.field("seed", "seed", SEED, "1", "All random draws come from it"),
    );
    fill(this.groups, ...flows.map((flow, i) => this.group(flow, i)));
  }

  private dropTrace(path: string): HTMLElement {
    const clear = (): void =>
      this.session.update(state => ({
        ...state,
        doc: set(set(state.doc, `${path}.trace`, undefined), `${path}.rate`, "10 Mbit/s"),
      }));
    return h("button", { type: "button", class: "small", onclick: clear }, "constant rate instead");
  }

  private group(flow: Json, i: number): HTMLElement {
    const kind = String(get(flow, "kind") ?? "");
    const path = (key: string): string => `flows.${i}.${key}`;
    const remove = h(
      "button",
      {
        type: "button",
        class: "small",
        "aria-label": `Remove traffic ${i + 1}`,
        onclick: () => this.session.update(state => ({ ...state, doc: set(state.doc, `flows.${i}`, undefined) })),
      },
      "×",
    );
    const isTcp = ["tcp", "web", "browser", "video", "request", "packmime", "rpm"].includes(kind);
    return h(
      "fieldset",
      {},
      h("legend", {}, NAMES[kind] ?? kind),
      remove,
      this.field("number", path("count"), COUNT, "1"),
      get(flow, "access_delay") === undefined
        ? this.field("RTT", path("rtt"), RTT, "0 s", "Round-trip time of propagation, the link's delays included")
        : this.field(
            "access delay",
            path("access_delay"),
            DELAY,
            "0 s",
            "Propagation delay of each flow's own link, one way",
          ),
      kind === "web" ? this.field("size", path("size"), SIZE, "800 kB", "Bytes of a page") : null,
      kind === "web" ? this.field("every", path("interval"), PERIOD, "2 s", "Time from one page to the next") : null,
      kind === "cbr" ? this.field("rate", path("rate"), { ...RATE, min: 1e4 }, "80 kbit/s") : null,
      isTcp ? this.cc(path("cc")) : null,
      isTcp ? this.ecn(path("ecn")) : null,
    );
  }

  private cc(path: string): HTMLElement {
    const { session } = this;
    const names = session.registry.ccs.map(({ name, alias, summary }) =>
      h("option", { value: alias ?? name, title: summary }, alias ?? name),
    );
    const select = h("select", { "aria-label": "Congestion control", "data-field": path }, ...names);
    select.addEventListener("change", () => setKey(session, path, select.value));
    this.also.push(() => {
      const value = String(get(session.state.doc, path) ?? "cubic");
      if (![...select.options].some(option => option.value === value)) select.append(h("option", { value }, value));
      select.value = value;
    });
    return h("label", { class: "pick" }, h("span", { class: "label" }, "congestion control"), select);
  }

  private ecn(path: string): HTMLElement {
    const { session } = this;
    const box = h("input", { type: "checkbox", "data-field": path });
    box.addEventListener("change", () => setKey(session, path, box.checked ? true : undefined));
    this.also.push(() => (box.checked = get(session.state.doc, path) === true));
    return h("label", { class: "check" }, box, "ECN");
  }

  private showChanges(): void {
    const { session } = this;
    const { changes } = session.state;
    const items = changes.map((change, i) => {
      const what =
        "set" in change ? `${change.set} = ${String(change.value)}` : `flows.${change.group}: ${change.count}`;
      const who = change.side === "both" ? "" : ` (${change.side.toUpperCase()})`;
      const remove = (): void =>
        session.update(state => ({ ...state, changes: state.changes.filter((_, at) => at !== i) }));
      return h(
        "li",
        {},
        h(
          "button",
          { type: "button", class: "small", onclick: () => session.seek(change.at_ns) },
          formatTime(change.at_ns, 6),
        ),
        ` ${what}${who} `,
        h("button", { type: "button", class: "small", "aria-label": "Remove this change", onclick: remove }, "×"),
      );
    });
    const none = h("li", { class: "muted" }, "none; move a control while it plays");
    fill(this.changes, ...(items.length ? items : [none]));
  }
}
