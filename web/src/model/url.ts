/**
 * Encodes the page's state in the URL, in the syntax of the command line: the preset, and the changed keys as for
 * `--set`.
 *
 *     #base=lab&link.rate=20+Mbit%2Fs&b=fq_codel&at=3.25s&speed=0.1
 */

import { apply, difference, type Doc, type Json } from "./doc.js";
import { formatTime, parseQuantity } from "../base/quantity.js";
import type { Change, Mode, State } from "./state.js";

/** Parameters of the URL that are not keys of a scenario. */
const WORDS = new Set(["base", "doc", "b", "mode", "changes", "at", "speed", "scales", "zoom", "lesson", "paper"]);

/** Quotes text that would parse as JSON, so that it stays text. */
function encodeValue(value: Json): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return isJson(value) ? JSON.stringify(value) : value;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const decodeValue = (text: string): Json => (isJson(text) ? (JSON.parse(text) as Json) : text);

function toBase64(text: string): string {
  const bytes = new TextEncoder().encode(text);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

function fromBase64(text: string): string {
  const binary = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return new TextDecoder().decode(Uint8Array.from(binary, char => char.charCodeAt(0)));
}

/** Encodes the keys that differ from the preset. */
export function encode(state: State, presets: (id: string) => State | null): string {
  const query = new URLSearchParams();
  const start = presets(state.base);
  if (start) query.set("base", state.base);
  else query.set("doc", toBase64(JSON.stringify(state.doc)));
  if (start) for (const [path, value] of difference(start.doc, state.doc)) query.set(path, encodeValue(value));
  if (JSON.stringify(start?.b) !== JSON.stringify(state.b)) query.set("b", encodeValue(state.b));
  if (state.mode !== (start?.mode ?? "traffic")) query.set("mode", state.mode);
  if (JSON.stringify(start?.changes ?? []) !== JSON.stringify(state.changes))
    query.set("changes", JSON.stringify(state.changes));
  if (state.at_ns !== (start?.at_ns ?? 0)) query.set("at", formatTime(state.at_ns, 15).replace(" ", ""));
  if (state.speed !== (start?.speed ?? 0.1))
    query.set("speed", state.speed === Infinity ? "fastest" : `${state.speed}`);
  if (state.scales !== (start?.scales ?? "one")) query.set("scales", state.scales);
  if (state.zoom) query.set("zoom", state.zoom.map(seconds => Number(seconds.toPrecision(6))).join("-"));
  if (state.lesson !== (start?.lesson ?? "")) query.set("lesson", state.lesson);
  if (state.paper !== (start?.paper ?? "")) query.set("paper", state.paper);
  return `#${query}`;
}

/** Decodes a URL's hash; missing values are those of the preset, invalid ones those of `fallback`. */
export function decode(hash: string, presets: (id: string) => State | null, fallback: State): State {
  const query = new URLSearchParams(hash.replace(/^#/, ""));
  const text = query.get("doc");
  const from = presets(query.get("base") ?? "");
  if (!from && text === null) return fallback;
  let state: State = from ?? { ...fallback, base: "", lesson: "", paper: "", changes: [], at_ns: 0 };
  if (!from && text !== null) {
    const doc = readDoc(text);
    if (!doc) return fallback;
    state = { ...state, doc };
  }
  const leaves: [string, Json][] = [...query]
    .filter(([key]) => !WORDS.has(key))
    .map(([path, value]) => [path, decodeValue(value)]);
  const b = query.get("b");
  const at_ns = parseQuantity(query.get("at") ?? "", "time");
  const speed = query.get("speed") === "fastest" ? Infinity : Number(query.get("speed") ?? NaN);
  return {
    ...state,
    doc: leaves.length ? apply(state.doc, leaves) : state.doc,
    b: b === null ? state.b : decodeValue(b),
    mode: isMode(query.get("mode")) ? (query.get("mode") as Mode) : state.mode,
    changes: readChanges(query.get("changes")) ?? state.changes,
    at_ns: at_ns === null ? state.at_ns : Math.round(at_ns),
    speed: speed > 0 ? speed : state.speed,
    scales: query.get("scales") === "own" ? "own" : query.get("scales") === "one" ? "one" : state.scales,
    zoom: readZoom(query.get("zoom")),
    lesson: query.get("lesson") ?? state.lesson,
    paper: query.get("paper") ?? state.paper,
  };
}

const isMode = (text: string | null): boolean => text === "traffic" || text === "arrivals";

/** Parses a range in s: `3.5-7`. */
function readZoom(text: string | null): [number, number] | null {
  const [from = NaN, to = NaN] = (text ?? "").split("-").map(Number);
  return from < to ? [from, to] : null;
}

function readDoc(text: string): Doc | null {
  try {
    const doc = JSON.parse(fromBase64(text)) as Json;
    return typeof doc === "object" && doc !== null && !Array.isArray(doc) ? doc : null;
  } catch {
    return null;
  }
}

function readChanges(text: string | null): Change[] | null {
  if (text === null || !isJson(text)) return null;
  const list = JSON.parse(text) as unknown;
  return Array.isArray(list) && list.every(isChange) ? list : null;
}

function isChange(value: unknown): value is Change {
  if (typeof value !== "object" || value === null) return false;
  const change = value as Record<string, unknown>;
  const isKey = typeof change["set"] === "string" && change["value"] !== undefined;
  const isCount = Number.isInteger(change["group"]) && Number.isInteger(change["count"]);
  return Number.isFinite(change["at_ns"]) && /^(a|b|both)$/.test(String(change["side"])) && (isKey || isCount);
}
