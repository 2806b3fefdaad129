/** Parameters of a queue manager, from the registry, with unit and range. */

import type { Parameter } from "../core/core.js";
import { find, parseAqm, valueOf, type Aqm } from "../model/aqm.js";
import type { Side } from "../model/state.js";
import { fill, h } from "../base/dom.js";
import { parseQuantity } from "../base/quantity.js";
import { aqmAt, setAqm, setParam } from "../app/edit.js";
import type { Session } from "../app/session.js";
import { Field, type Range } from "./field.js";
import type { BoundField } from "./keys.js";

/** Useful range of a slider, narrower than the registry's bounds; by default around the default value. */
function usefulRange(param: Parameter): Range {
  const dimensions: Record<string, Range["dimension"]> = { time: "time", bytes: "bytes", rate: "rate" };
  const dimension = dimensions[param.kind] ?? "number";
  const number = (text: string | null, otherwise: number): number =>
    (text === null ? null : dimension === "number" ? Number(text) : parseQuantity(text, dimension)) ?? otherwise;
  const [low, high, own] = [number(param.min, 0), number(param.max, 1), number(param.default, 0)];
  const whole = param.kind === "count";
  if (own > low) {
    const min = Math.max(low, own / 100, whole ? 1 : 0);
    const max = Math.min(high, own * 100);
    return { dimension, min, max: Math.max(max, min * 10), log: true, whole };
  }
  if (param.kind === "time") return { dimension, min: Math.max(low, 1e5), max: Math.min(high, 1e9), log: true };
  if (param.kind === "bytes") return { dimension, min: Math.max(low, 100), max: Math.min(high, 1e6), log: true };
  if (param.kind === "rate") return { dimension, min: Math.max(low, 1e5), max: Math.min(high, 1e9), log: true };
  if (high <= 1) return { dimension, min: low, max: high, log: false };
  return { dimension, min: low, max: Math.min(high, whole ? 1000 : 10), log: false, whole };
}

/** Field for a numeric parameter of a side's queue manager. */
export function paramField(session: Session, side: Side, param: Parameter, id = `${side}.${param.name}`): BoundField {
  const range = param.min && param.max ? ` From ${param.min} to ${param.max}; ${param.default} unless set.` : "";
  const change = (text: string): void => setParam(session, side, param.name, text);
  const field = new Field(param.name, usefulRange(param), change, `${param.doc}${range}`, id);
  for (const input of field.element.querySelectorAll("input"))
    input.setAttribute("aria-label", `${input.getAttribute("aria-label")}, queue manager ${side.toUpperCase()}`);
  const show = (): void => {
    const aqm = parseAqm(aqmAt(session.state, side), session.registry);
    if (aqm) field.set(valueOf(aqm, param.name, session.registry));
  };
  return { field, show };
}

/** Parameters shown first; the others are folded. */
const PRIMARY = new Set([
  "target",
  "interval",
  "ecn",
  "tupdate",
  "alpha",
  "beta",
  "quantum",
  "flows",
  "min",
  "max",
  "probability",
  "coupling_factor",
  "step_thresh",
  "max_burst",
  "ce_threshold",
]);

export class Params {
  readonly element: HTMLElement;
  private readonly name: HTMLSelectElement;
  private readonly profile: HTMLSelectElement;
  private readonly about = h("p", { class: "about" });
  private readonly fields = h("div", { class: "fields" });
  private readonly rest = h("div", { class: "fields" });
  private readonly more: HTMLDetailsElement;
  private readonly setters = new Map<string, (value: string) => void>();
  private built = "";
  private shown = "";

  constructor(
    private readonly session: Session,
    private readonly side: Side,
  ) {
    const letter = side.toUpperCase();
    this.name = h("select", { "aria-label": `Queue manager ${letter}`, "data-aqm": side });
    this.profile = h("select", { "aria-label": `Variant of queue manager ${letter}` });
    this.name.addEventListener("change", () =>
      setAqm(session, side, { name: this.name.value, profile: "", params: {} }),
    );
    this.profile.addEventListener("change", () => {
      const profile = this.profile.selectedIndex > 0 ? this.profile.value : "";
      setAqm(session, side, { name: this.name.value, profile, params: {} });
    });
    this.more = h("details", {}, h("summary", {}, "More parameters"), this.rest);
    const all = h(
      "details",
      { class: "params" },
      h("summary", {}, `Parameters of ${letter}`),
      this.about,
      this.fields,
      this.more,
    );
    this.element = h("div", {}, h("div", { class: "choice" }, this.name, this.profile), all);
    session.on(["state"], () => this.update());
    session.on(["time"], () => session.state.changes.length && this.update());
  }

  /** Element that unfolds the parameters. */
  get details(): HTMLDetailsElement {
    return this.element.querySelector("details.params")!;
  }

  update(): void {
    const { registry, state } = this.session;
    if (!registry) return;
    const value = aqmAt(state, this.side);
    const text = JSON.stringify(value ?? null);
    if (text === this.shown) return;
    this.shown = text;
    const aqm = parseAqm(value, registry);
    if (!this.name.length) {
      for (const { name, summary, holds } of registry.aqms)
        if (!holds) this.name.append(h("option", { value: name, title: summary }, name));
    }
    if (!aqm) {
      this.showOther(typeof value === "string" ? value : JSON.stringify(value));
      return;
    }
    const key = `${aqm.name}@${aqm.profile}`;
    if (key !== this.built) this.build(aqm);
    this.built = key;
    for (const [param, set] of this.setters) set(valueOf(aqm, param, registry));
  }

  /** Shows a queue manager that the controls cannot represent, as text. */
  private showOther(text: string): void {
    const known = [...this.name.options].find(option => option.value === text);
    if (!known) this.name.prepend(h("option", { value: text }, text));
    this.name.value = text;
    this.built = "";
    this.profile.hidden = true;
    fill(this.fields);
    fill(this.rest);
    this.setters.clear();
  }

  private build(aqm: Aqm): void {
    const { registry } = this.session;
    const algorithm = find(registry, aqm.name)!;
    this.name.value = aqm.name;
    fill(this.about, `${algorithm.summary}. Source: ${algorithm.source}.`);
    fill(
      this.profile,
      ...algorithm.profiles.map(({ name, spelling, summary }) =>
        h("option", { value: name, title: summary }, spelling),
      ),
    );
    this.profile.value = aqm.profile || (algorithm.profiles[0]?.name ?? "");
    this.profile.hidden = algorithm.profiles.length < 2;
    this.setters.clear();
    const shown = algorithm.params.filter(
      param => param.name !== "version" && param.kind !== "bands" && param.kind !== "class",
    );
    const primary = shown.filter(param => PRIMARY.has(param.name));
    const others = shown.filter(param => !PRIMARY.has(param.name));
    fill(this.fields, ...primary.map(param => this.control(param)));
    fill(this.rest, ...others.map(param => this.control(param)));
    this.more.hidden = !others.length;
    this.details.hidden = !shown.length;
  }

  private control(param: Parameter): HTMLElement {
    const { session, side } = this;
    const label = `${param.name}`;
    const range = param.min && param.max ? ` From ${param.min} to ${param.max}; ${param.default} unless set.` : "";
    const hint = `${param.doc}${range}`;
    const spoken = `${label}, queue manager ${side.toUpperCase()}`;
    if (param.kind === "flag") {
      const box = h("input", { type: "checkbox", "aria-label": spoken });
      box.addEventListener("change", () => setParam(session, side, param.name, String(box.checked)));
      this.setters.set(param.name, value => (box.checked = value === "true"));
      return h("label", { class: "check", title: hint, "data-field": `${side}.${param.name}` }, box, label);
    }
    if (param.kind === "choice") {
      const select = h(
        "select",
        { "aria-label": spoken },
        ...param.choices.map(choice => h("option", { value: choice }, choice)),
      );
      select.addEventListener("change", () => setParam(session, side, param.name, select.value));
      this.setters.set(param.name, value => (select.value = value));
      return h("label", { class: "pick", title: hint }, h("span", { class: "label" }, label), select);
    }
    const { field } = paramField(session, side, param);
    this.setters.set(param.name, value => field.set(value));
    return field.element;
  }
}
