/** Rate and delays of the link at a time, read from the scenario as it ran, for the animation. */

import { parseQuantity } from "../base/quantity.js";
import { get, type Json } from "../model/doc.js";
import { linkPath } from "../model/state.js";
import type { SideRun } from "../sim/run.js";
import { after } from "../sim/packets.js";

/** Steps of a quantity: start in ns, and value. */
export type Steps = [number, number][];

/** Parses `10 Mbit/s` or `100 Mbit/s@0s,10 Mbit/s@50s`. Null if the text is neither. */
export function readSteps(value: Json | undefined, dimension: "rate" | "time"): Steps | null {
  if (typeof value !== "string") return null;
  const steps: Steps = [];
  for (const part of value.split(",")) {
    const [what = "", when = "0s"] = part.split("@");
    const [number, from] = [parseQuantity(what, dimension), parseQuantity(when, "time")];
    if (number === null || from === null) return null;
    steps.push([from, number]);
  }
  return steps;
}

export const stepAt = (steps: Steps, at: number): number => {
  let value = steps[0]?.[1] ?? 0;
  for (const [from, next] of steps) if (from <= at) value = next;
  return value;
};

/** Minimum delay drawn, so that packets on the link are visible. */
const MIN_DELAY = 5e6;

/** Window over which the rate of a link without a fixed rate is measured. */
const WINDOW = 100e6;

export class LinkView {
  private readonly rates: Steps | null;
  private readonly delays: Steps;
  private readonly back: Steps;

  constructor(private readonly run: SideRun) {
    const scenario = run.outcome.checked.scenario as unknown as { [key: string]: Json };
    const path = linkPath(scenario);
    const text = (key: string): Json | undefined => get(scenario, key);
    this.rates = readSteps(text(`${path}.rate`), "rate");
    this.delays = readSteps(text(`${path}.delay`), "time") ?? [[0, 0]];
    this.back = readSteps(text("reverse.delay"), "time") ?? this.delays;
  }

  /** Rate in bit/s; for a trace, a token bucket or a wireless LAN, the throughput around the time. */
  rate(at: number): number {
    const fixed = this.rates && stepAt(this.rates, at);
    if (fixed) return fixed;
    const { time, bytes, fate } = this.run.packets;
    const [first, last] = [after(time, at - WINDOW), after(time, at + WINDOW)];
    let sent = 0;
    for (let row = first; row < last; row++) if (fate[row]! <= 1) sent += bytes[row]!;
    return sent ? (sent * 8e9) / (2 * WINDOW) : 1e6;
  }

  delay(at: number): number {
    return Math.max(MIN_DELAY, stepAt(this.delays, at));
  }

  backDelay(at: number): number {
    return Math.max(MIN_DELAY, stepAt(this.back, at));
  }
}
