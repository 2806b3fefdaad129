/** What the page shows: all of it is in its address. */

import { apply, get, set, type Doc, type Json } from "./doc.js";

/** `traffic`: the same flows and seed, each queue with its own closed loop. `arrivals`: one recorded stream into both. */
export type Mode = "traffic" | "arrivals";
export type Side = "a" | "b";
export const SIDES: readonly Side[] = ["a", "b"];

/** A change while the run goes on: a key of a link, or the number of flows of an entry of `[[flows]]`. */
export type Change = { at_ns: number; side: Side | "both" } & (
  { set: string; value: Json } | { group: number; count: number }
);

export interface State {
  /** The preset that the scenario started from; empty for one that came from elsewhere. */
  base: string;
  /** The scenario; its queue manager is A's. */
  doc: Doc;
  /** B's queue manager, as a scenario has it. */
  b: Json;
  mode: Mode;
  changes: Change[];
  /** Where the playhead is, in ns. */
  at_ns: number;
  /** Simulated seconds per second; Infinity: as fast as it goes. */
  speed: number;
  /** Whether A's and B's queues are drawn to one scale, or each to its own. */
  scales: "one" | "own";
  /** The part of the run that plots show, in s; null: all of it. */
  zoom: [number, number] | null;
  /** Ids of the guided lesson and of the published result that are shown; empty for none. */
  lesson: string;
  paper: string;
}

export const SPEEDS: readonly { speed: number; label: string }[] = [
  { speed: 0.001, label: "1/1000" },
  { speed: 0.01, label: "1/100" },
  { speed: 0.1, label: "1/10" },
  { speed: 1, label: "1×" },
  { speed: 10, label: "10×" },
  { speed: Infinity, label: "fastest" },
];

/** Path of the queue manager that is compared: the first link of a graph, else `link`. */
export const linkPath = (doc: Doc): string => (Array.isArray(doc["nodes"]) ? "links.0" : "link");

/** A side's scenario, without the changes. */
export function sideDoc(state: State, side: Side): Doc {
  if (side === "a") return state.doc;
  return set(state.doc, `${linkPath(state.doc)}.aqm`, state.b);
}

export const aqmOf = (state: State, side: Side): Json | undefined =>
  side === "a" ? get(state.doc, `${linkPath(state.doc)}.aqm`) : state.b;

/** The changes that a side has, in order of time. */
export const changesOf = (state: State, side: Side): Change[] =>
  state.changes.filter(change => change.side === "both" || change.side === side).sort((x, y) => x.at_ns - y.at_ns);

/** The state with one more change; one of the same key, side and instant is replaced. */
export function withChange(state: State, change: Change): State {
  const what = (x: Change): string => ("set" in x ? x.set : `flows ${x.group}`);
  const others = state.changes.filter(
    known => !(known.at_ns === change.at_ns && known.side === change.side && what(known) === what(change)),
  );
  return { ...state, changes: [...others, change].sort((x, y) => x.at_ns - y.at_ns) };
}

/** What a key is worth at an instant, with the changes up to then. */
export function valueAt(state: State, side: Side, path: string, at_ns: number): Json | undefined {
  let value = get(sideDoc(state, side), path);
  for (const change of changesOf(state, side))
    if ("set" in change && change.set === path && change.at_ns <= at_ns) value = change.value;
  return value;
}

export { apply };
