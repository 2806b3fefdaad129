/** Edits made by controls: a key for the whole run, or from the playhead on. */

import { find, parseAqm, spell, type Aqm } from "../model/aqm.js";
import { set, type Json } from "../model/doc.js";
import { linkPath, withChange, aqmOf, valueAt, type Side, type State } from "../model/state.js";
import type { Session } from "./session.js";

/** Keys of a link that can change during a run. */
const CHANGEABLE = ["rate", "delay", "loss", "aqm", "limit"];

/** Whether a control's change is added to `[[changes]]`. */
export function isChangeFromNow(session: Session, path: string): boolean {
  return (session.fromNow || session.playing) && canChangeFromNow(session.state) && isChangeable(path);
}

/** Whether the scenario allows changes from the playhead on. */
export const canChangeFromNow = (state: State): boolean =>
  state.mode === "traffic" && state.at_ns > 0 && linkPath(state.doc) === "link" && state.doc["wlan"] === undefined;

export const isChangeable = (path: string): boolean =>
  /^(link|reverse)\./.test(path) && CHANGEABLE.includes(path.split(".")[1] ?? "");

/** Time of a change; while a slider is dragged, the time at which the drag started. */
function instant(session: Session): number {
  session.drag_ns ??= session.state.at_ns;
  return session.drag_ns;
}

/** Sets a key of the scenario; `undefined` removes it. */
export function setKey(session: Session, path: string, value: Json | undefined): void {
  if (value !== undefined && isChangeFromNow(session, path)) {
    const at_ns = instant(session);
    session.update(state => withChange(state, { at_ns, side: "both", set: path, value }));
  } else session.update(state => ({ ...state, doc: set(state.doc, path, value) }));
}

/** Sets the number of flows of an entry of `[[flows]]`. */
export function setCount(session: Session, group: number, count: number): void {
  if ((session.fromNow || session.playing) && canChangeFromNow(session.state))
    session.update(known => withChange(known, { at_ns: known.at_ns, side: "both", group, count }));
  else session.update(known => ({ ...known, doc: set(known.doc, `flows.${group}.count`, count) }));
}

export function setAqm(session: Session, side: Side, aqm: Aqm | string): void {
  const value = typeof aqm === "string" ? aqm : spell(aqm, session.registry);
  const path = `${linkPath(session.state.doc)}.aqm`;
  if (isChangeFromNow(session, path)) {
    const at_ns = instant(session);
    session.update(state => withChange(state, { at_ns, side, set: path, value }));
  } else if (side === "b") session.update({ b: value });
  else session.update(state => ({ ...state, doc: set(state.doc, path, value) }));
}

/** Queue manager of a side at the playhead, with all changes up to it applied. */
export function aqmAt(state: State, side: Side): Json | undefined {
  const path = `${linkPath(state.doc)}.aqm`;
  return state.changes.length ? valueAt(state, side, path, state.at_ns) : aqmOf(state, side);
}

/** Sets a parameter; the profile's own value removes it from the text. */
export function setParam(session: Session, side: Side, param: string, value: string): void {
  const { registry } = session;
  const aqm = parseAqm(aqmAt(session.state, side), registry);
  if (!aqm) return;
  const profile = find(registry, aqm.name)?.profiles.find(known => known.name === aqm.profile);
  const own = (profile ?? find(registry, aqm.name)?.profiles[0])?.values[param];
  const { [param]: _, ...others } = aqm.params;
  const params = value === own ? others : { ...others, [param]: value };
  setAqm(session, side, { ...aqm, params });
}
