/** Scenarios to start from: the page's own, and those shipped with Sojourn (bundled by `build.mjs`). */

import shipped from "virtual:scenarios";
import type { Json } from "./doc.js";
import { fromToml } from "./toml.js";
import { linkPath, type State } from "./state.js";
import { get } from "./doc.js";
import { LESSONS } from "../lessons/index.js";
import { CASES } from "../papers/index.js";

export interface Preset {
  id: string;
  title: string;
  text: string;
  /** B's queue manager. */
  b: Json;
  at_ns?: number;
}

const LAB = `name = "four downloads and a call"
duration = "60 s"
warmup = "10 s"

[link]
rate = "10 Mbit/s"
delay = "10 ms"
aqm = "droptail"
limit = "250 packets"

[[flows]]
kind = "tcp"
count = 4
rtt = "40 ms"
spread = "1 s"

[[flows]]
kind = "voice"
rtt = "40 ms"
`;

/** Queue manager of B for a shipped scenario. */
const counterpart = (aqm: Json | undefined): Json => (aqm === undefined || aqm === "droptail" ? "codel" : "droptail");

function ofShipped(): Preset[] {
  return shipped.map(({ name, text }) => {
    const doc = fromToml(text);
    return {
      id: name,
      title: typeof doc["name"] === "string" && doc["name"] ? doc["name"] : name,
      text,
      b: counterpart(get(doc, `${linkPath(doc)}.aqm`)),
    };
  });
}

export const PRESETS: readonly Preset[] = [
  { id: "lab", title: "Four downloads and a call", text: LAB, b: "codel", at_ns: 20e9 },
  ...ofShipped(),
];

export const FIRST = "lab";

/** Initial playhead: flows are past slow start, and packets are queued. */
const BUSY_NS = 10e9;

function start(id: string, text: string, b: Json, more: Partial<State> = {}): State {
  const doc = fromToml(text);
  return {
    base: id,
    doc,
    b,
    mode: "traffic",
    changes: [],
    at_ns: 0,
    speed: 0.1,
    scales: "one",
    zoom: null,
    lesson: "",
    paper: "",
    ...more,
  };
}

/** Text of a preset, with its comments; null for an unknown id. */
export function presetText(id: string): string | null {
  const lesson = LESSONS.find(known => `lesson-${known.id}` === id)?.scenario;
  const paper = CASES.find(known => `paper-${known.id}` === id)?.scenario;
  return PRESETS.find(known => known.id === id)?.text ?? lesson ?? paper ?? null;
}

/** State of a preset; null for an unknown id. Lessons and papers are presets. */
export function presetState(id: string): State | null {
  const preset = PRESETS.find(known => known.id === id);
  if (preset) return start(id, preset.text, preset.b, { at_ns: preset.at_ns ?? 0 });
  const lesson = LESSONS.find(known => `lesson-${known.id}` === id);
  if (lesson) return start(id, lesson.scenario, lesson.b, { lesson: lesson.id, at_ns: BUSY_NS, ...lesson.start });
  const paper = CASES.find(known => `paper-${known.id}` === id);
  if (paper) return start(id, paper.scenario, paper.b, { paper: paper.id, at_ns: BUSY_NS });
  return null;
}
