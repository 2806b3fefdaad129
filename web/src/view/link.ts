/** The link as the animation needs it: its rate and delays at an instant, read from the scenario as it ran. */

import { parseQuantity } from "../base/quantity.js";
import { get, type Json } from "../model/doc.js";
import { linkPath } from "../model/state.js";
import type { SideRun } from "../sim/run.js";
import { after } from "../sim/packets.js";

/** Steps of a quantity: from when it holds, in ns, and its value. */
export type Steps = [number, number][];

/** `10 Mbit/s`, or `100 Mbit/s@0s,10 Mbit/s@50s`. Null where the text is neither. */
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

/** Shorter delays are drawn as long as this, so that packets on the link are seen. */
const LEAST_DELAY = 5e6;

/** Over so much time the rate of a link without a fixed one is taken. */
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

  /** In bit/s. Of a trace, a bucket or a wireless LAN: what it has sent around the instant. */
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
    return Math.max(LEAST_DELAY, stepAt(this.delays, at));
  }

  backDelay(at: number): number {
    return Math.max(LEAST_DELAY, stepAt(this.back, at));
  }
}
