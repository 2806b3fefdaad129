/** A published result, compared with the same set-up run here. */

import type { Json } from "../model/doc.js";
import type { Side } from "../model/state.js";
import type { SideRun } from "../sim/run.js";

export interface Claim {
  id: string;
  where: string;
  metric: string;
  unit: string;
  expected: number;
  tight_lo: number;
  tight_hi: number;
  loose_lo: number;
  loose_hi: number;
}

/**
 * Compared quantity: mean, 99 % quantile, maximum, and maximum from 200 to 250 s of the sojourn time; value at 50 s and
 * mean from 20 s on of CoDel's count.
 */
export type Quantity = "mean" | "p99" | "max" | "max200" | "count50" | "count";

export interface Published {
  side: Side;
  quantity: Quantity;
  claim: Claim;
}

export interface Case {
  id: string;
  /** Authors and year. */
  paper: string;
  title: string;
  /** Explanation. */
  text: string;
  /** The paper's key of `sojourn reproduce`. */
  key: string;
  scenario: string;
  b: Json;
  published: { side: Side; quantity: Quantity; claim: string }[];
}

/** Value of a quantity in a run; NaN if it has none. */
export function measured(run: SideRun, quantity: Quantity): number {
  if (quantity === "mean") return run.meanSojourn;
  if (quantity === "p99") return run.sojournQuantile(0.99);
  if (quantity === "max") return maximumWithin(run, 0, Infinity);
  if (quantity === "max200") return maximumWithin(run, 200, 250);
  const count = run.state("count");
  if (!count) return NaN;
  if (quantity === "count50") {
    const after = count.x.findIndex(time => time >= 50);
    return after < 0 ? NaN : count.y[after]!;
  }
  const late = count.y.filter((_, i) => count.x[i]! >= 20);
  return late.reduce((sum, value) => sum + value, 0) / late.length;
}

/** Maximum sojourn time in ms of the packets sent within a time range in s. */
function maximumWithin(run: SideRun, from: number, to: number): number {
  const { x, y } = run.sojourn;
  let most = NaN;
  for (let i = 0; i < x.length; i++) if (x[i]! >= from && x[i]! < to && !(y[i]! <= most)) most = y[i]!;
  return most;
}

/** Band that contains a value. */
export function verdict(claim: Claim, value: number): "tight" | "loose" | "outside" | "unknown" {
  if (!Number.isFinite(value)) return "unknown";
  if (value >= claim.tight_lo && value <= claim.tight_hi) return "tight";
  return value >= claim.loose_lo && value <= claim.loose_hi ? "loose" : "outside";
}
