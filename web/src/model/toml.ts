/** Scenario documents as TOML, and TOML as documents. */

import { parse, stringify } from "smol-toml";
import type { Doc, Json } from "./doc.js";

/** Tables last, in the order in which scenario files have them. */
const ORDER = ["name", "duration", "warmup", "seed", "wlan", "nodes", "link", "reverse", "links", "flows", "changes"];

const place = (key: string): number => {
  const at = ORDER.indexOf(key);
  return at < 0 ? ORDER.length : at;
};

/** TOML has no null: a key without a value is left out. */
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

/** A scenario's text may be JSON as well, as results have it. */
export const isJson = (text: string): boolean => text.trimStart().startsWith("{");

/** Throws an error whose first line says what is wrong and where. */
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
