/** The page's state: all of it is encoded in the URL. */

import { apply, get, set, type Doc, type Json } from "./doc.js";

/** `traffic`: the same flows and seed, each queue with its own closed loop. `arrivals`: one recorded stream into both. */
export type Mode = "traffic" | "arrivals";
export type Side = "a" | "b";
export const SIDES: readonly Side[] = ["a", "b"];

/** A change during the run: a key of a link, or the number of flows of an entry of `[[flows]]`. */
export type Change = { at_ns: number; side: Side | "both" } & (
  { set: string; value: Json } | { group: number; count: number }
);

export interface State {
  /** Preset from which the scenario started; empty for an opened file. */
  base: string;
  /** The scenario; its queue manager is that of A. */
  doc: Doc;
  /** B's queue manager, as in a scenario. */
  b: Json;
  mode: Mode;
  changes: Change[];
  /** Playhead, in ns. */
  at_ns: number;
  /** Simulated seconds per second; Infinity for the fastest. */
  speed: number;
  /** Whether both queues share one scale. */
  scales: "one" | "own";
  /** Time range of the plots, in s; null for the whole run. */
  zoom: [number, number] | null;
  /** Ids of the active lesson and published result; empty for none. */
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

/** Path of the link under comparison: the first link of a graph, else `link`. */
export const linkPath = (doc: Doc): string => (Array.isArray(doc["nodes"]) ? "links.0" : "link");

/** A side's scenario, without the changes. */
export function sideDoc(state: State, side: Side): Doc {
  if (side === "a") return state.doc;
  return set(state.doc, `${linkPath(state.doc)}.aqm`, state.b);
}

export const aqmOf = (state: State, side: Side): Json | undefined =>
  side === "a" ? get(state.doc, `${linkPath(state.doc)}.aqm`) : state.b;

/** Changes of a side, in order of time. */
export const changesOf = (state: State, side: Side): Change[] =>
  state.changes.filter(change => change.side === "both" || change.side === side).sort((x, y) => x.at_ns - y.at_ns);

/** Adds a change, replacing one with the same key, side and time. */
export function withChange(state: State, change: Change): State {
  const target = (x: Change): string => ("set" in x ? x.set : `flows ${x.group}`);
  const others = state.changes.filter(
    known => !(known.at_ns === change.at_ns && known.side === change.side && target(known) === target(change)),
  );
  return { ...state, changes: [...others, change].sort((x, y) => x.at_ns - y.at_ns) };
}

/** Value of a key at a time, with all changes up to then applied. */
export function valueAt(state: State, side: Side, path: string, at_ns: number): Json | undefined {
  let value = get(sideDoc(state, side), path);
  for (const change of changesOf(state, side))
    if ("set" in change && change.set === path && change.at_ns <= at_ns) value = change.value;
  return value;
}

export { apply };
