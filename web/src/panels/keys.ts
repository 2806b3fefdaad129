/** Controls for keys of the scenario: label and useful range. */

import { setCount, setKey } from "../app/edit.js";
import type { Session } from "../app/session.js";
import { valueAt } from "../model/state.js";
import { Field, type Range } from "./field.js";

export const RATE: Range = { dimension: "rate", min: 2e5, max: 2e8, log: true };
export const DELAY: Range = { dimension: "time", min: 0, max: 2e8, log: false };
export const RTT: Range = { dimension: "time", min: 1e6, max: 1e9, log: true };
export const BUFFER: Range = { dimension: "packets", min: 4, max: 10_000, log: true, whole: true };
export const COUNT: Range = { dimension: "number", min: 1, max: 128, log: true, whole: true };
export const DURATION: Range = { dimension: "time", min: 2e9, max: 3e11, log: true };
export const SEED: Range = { dimension: "number", min: 1, max: 100, log: false, whole: true };
export const SIZE: Range = { dimension: "bytes", min: 1e4, max: 1e7, log: true };
export const PERIOD: Range = { dimension: "time", min: 5e7, max: 1e10, log: true };

export interface Key {
  label: string;
  path: string;
  range: Range;
  /** Default value of the key. */
  fallback: string;
  hint?: string;
}

/** A field, with a function that shows the key's current value in it. */
export interface BoundField {
  field: Field;
  show(): void;
}

export function keyField(session: Session, { label, path, range, fallback, hint = "" }: Key, id = path): BoundField {
  const field = new Field(
    label,
    range,
    (text, value) => {
      const count = /^flows\.(\d+)\.count$/.exec(path);
      if (count) setCount(session, Number(count[1]), Math.round(value));
      else setKey(session, path, range.dimension === "number" ? value : text);
    },
    hint,
    id,
  );
  const show = (): void => field.set(String(valueAt(session.state, "a", path, session.state.at_ns) ?? fallback));
  return { field, show };
}

/** Keys that a lesson's question may be about. */
export const LESSON_KEYS: Record<string, Key> = {
  "link.limit": { label: "buffer", path: "link.limit", range: BUFFER, fallback: "1000 packets" },
  "flows.0.count": { label: "number of downloads", path: "flows.0.count", range: COUNT, fallback: "1" },
};
