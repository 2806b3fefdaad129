/** What a queue manager has on its mind at an instant, in lines with names, values and bars. */

import type { Part } from "../core/core.js";

export interface MindInput {
  /** Name of the queue manager, without profile. */
  name: string;
  state: Record<string, number>;
  parts: Part[];
  /** In s. */
  now: number;
  /** Sojourn time of the packet sent last, in ms; NaN before the first. */
  sojourn_ms: number;
  backlog_packets: number;
  /** A parameter as text, with what the profile has; empty where there is none. */
  param(name: string): string;
  /** The same as a number: s, bytes, or plain; NaN where it is none. */
  value(name: string): number;
}

export interface Line {
  name: string;
  value: string;
  /** What it means now. */
  note?: string;
  /** A bar from 0 to 1, with a line at `mark`. */
  bar?: { share: number; mark?: number; tone?: "calm" | "warn" | "act" };
}

export interface Mind {
  /** Whether it knows this queue manager. */
  knows(input: MindInput): boolean;
  lines(input: MindInput): Line[];
}

/** Seconds as ms. */
export const inMs = (seconds: number): string => {
  const value = seconds * 1e3;
  const places = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(places)} ms`;
};

export const inPercent = (share: number): string => `${(share * 100).toFixed(share < 0.1 ? 2 : 1)} %`;

/** The sojourn time beside the target. */
export function sojournLine(input: MindInput): Line {
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
