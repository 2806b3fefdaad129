/** State of a queue manager at one time, as lines with names, values and bars. */

import type { Part } from "../core/core.js";

export interface InspectorInput {
  /** Name of the queue manager, without profile. */
  name: string;
  state: Record<string, number>;
  parts: Part[];
  /** Simulated time in s. */
  now: number;
  /** Sojourn time of the packet sent last, in ms; NaN before the first. */
  sojourn_ms: number;
  backlog_packets: number;
  /** A parameter as text, by default the profile's value; empty if there is none. */
  param(name: string): string;
  /** The same as a number in s, bytes or plain; NaN if it is not a number. */
  value(name: string): number;
}

export interface Line {
  name: string;
  value: string;
  /** Meaning of the value. */
  note?: string;
  /** A bar from 0 to 1, with a line at `mark`. */
  bar?: { share: number; mark?: number; tone?: "calm" | "warn" | "act" };
}

export interface Inspector {
  /** Whether the inspector is for this queue manager. */
  matches(input: InspectorInput): boolean;
  lines(input: InspectorInput): Line[];
}

/** Formats seconds as ms. */
export const inMs = (seconds: number): string => {
  const value = seconds * 1e3;
  const places = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(places)} ms`;
};

export const inPercent = (share: number): string => `${(share * 100).toFixed(share < 0.1 ? 2 : 1)} %`;

/** The sojourn time with the target. */
export function sojournLine(input: InspectorInput): Line {
  const target = input.value("target");
  const seconds = input.sojourn_ms / 1e3;
  if (!Number.isFinite(seconds)) return { name: "sojourn time", value: "–", note: "nothing sent yet" };
  const known = Number.isFinite(target) && target > 0;
  const above = known && seconds >= target;
  const line: Line = { name: "sojourn time", value: inMs(seconds) };
  if (known) {
    line.note = `target ${inMs(target)}`;
    line.bar = { share: Math.min(1, seconds / (4 * target)), mark: 0.25, tone: above ? "warn" : "calm" };
  }
  return line;
}
