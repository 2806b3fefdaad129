/** Statistics of a run, for a lesson's `judge`. */

import type { SideRun } from "../sim/run.js";
import type { RunStats } from "./lesson.js";

/** Null for a run without a summary: a replay of recorded arrivals has no reacting flows. */
export function runStats(run: SideRun, aqm: string): RunStats | null {
  const { summary, checked } = run.outcome;
  if (!summary) return null;
  const { forward } = summary.links;
  const calls = summary.groups.filter(group => group.mos !== null);
  return {
    aqm,
    p50: run.sojournQuantile(0.5),
    p95: run.sojournQuantile(0.95),
    p99: run.sojournQuantile(0.99),
    utilisation: forward.utilisation,
    drops: forward.dropped,
    marks: forward.marked,
    mos: calls.length ? calls.reduce((sum, group) => sum + group.mos!, 0) / calls.length : null,
    flows: summary.flows.map(flow => ({ cc: checked.flows[flow.id]?.cc ?? "", mbps: flow.goodput_bps / 1e6 })),
    downloads: checked.flows.filter(flow => flow.kind === "tcp").length,
  };
}
