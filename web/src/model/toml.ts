/** Scenario documents as TOML, and TOML as documents. */

import { parse, stringify } from "smol-toml";
import type { Doc, Json } from "./doc.js";

/** Order of keys in scenario files; tables last. */
const ORDER = ["name", "duration", "warmup", "seed", "wlan", "nodes", "link", "reverse", "links", "flows", "changes"];

const place = (key: string): number => {
  const at = ORDER.indexOf(key);
  return at < 0 ? ORDER.length : at;
};

/** TOML has no null: such keys are left out. */
function withoutNull(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNull);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== null);
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutNull(item)]));
}

export function toToml(doc: Doc): string {
  const sorted = Object.fromEntries(Object.entries(doc).sort(([x], [y]) => place(x) - place(y)));
  return stringify(withoutNull(sorted)).trimEnd() + "\n";
}

/** Whether a scenario's text is JSON, as in results. */
export const isJson = (text: string): boolean => text.trimStart().startsWith("{");

/** Throws an error whose first line has the place and the problem. */
export function fromToml(text: string): Doc {
  if (isJson(text)) return withoutNull(JSON.parse(text) as Json) as Doc;
  const plain = (value: unknown): Json => {
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value === "bigint") return Number(value);
    if (value instanceof Date) return value.toISOString();
    if (typeof value === "object" && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
    return value as Json;
  };
  return plain(parse(text)) as Doc;
}
