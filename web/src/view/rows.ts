/** Assigns queued packets to rows: one queue, a queue per flow, or two coupled ones. */

import type { SideRun } from "../sim/run.js";

export type Layout = "one" | "flows" | "dual";

export interface Row {
  label: string;
  /** Indices into the packets' columns, head first. */
  packets: number[];
}

/** Maximum number of rows; further flows share the last row. */
const MAX_ROWS = 7;

/** ECN fields of packets that join the L4S queue: ECT(1) and CE. */
const isL4s = (ecn: number): boolean => ecn === 1 || ecn === 3;

export function rows(run: SideRun, waiting: number[], layout: Layout): Row[] {
  const { flow, ecn } = run.packets;
  if (layout === "one") return [{ label: "", packets: waiting }];
  if (layout === "dual")
    return [
      { label: "L", packets: waiting.filter(row => isL4s(ecn[row]!)) },
      { label: "C", packets: waiting.filter(row => !isL4s(ecn[row]!)) },
    ];
  const byFlow = new Map<number, number[]>();
  for (const row of waiting) {
    const known = byFlow.get(flow[row]!);
    if (known) known.push(row);
    else byFlow.set(flow[row]!, [row]);
  }
  const lasting = run.outcome.checked.flows.length;
  const permanent = Array.from({ length: Math.min(lasting, MAX_ROWS) }, (_, i) => i);
  // Transient flows use the remaining rows; the number of rows is constant.
  const others = [...byFlow.keys()].filter(number => number >= permanent.length).sort((one, two) => one - two);
  const transient = others.splice(0, run.hasTransientFlows ? MAX_ROWS - permanent.length : 0);
  const shown = [...permanent, ...transient].map(number => ({
    label: String(number),
    packets: byFlow.get(number) ?? [],
  }));
  while (run.hasTransientFlows && shown.length < MAX_ROWS) shown.push({ label: "", packets: [] });
  const rest = others.flatMap(number => byFlow.get(number)!).sort((one, two) => one - two);
  if (lasting > MAX_ROWS || run.hasTransientFlows) shown.push({ label: "…", packets: rest });
  return shown;
}
