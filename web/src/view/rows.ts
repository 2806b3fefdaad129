/** Which packets of a queue lie in which row: one queue, a queue per flow, or two coupled ones. */

import type { SideRun } from "../sim/run.js";

export type Layout = "one" | "flows" | "dual";

export interface Row {
  label: string;
  /** Places in the columns of packets, the head first. */
  packets: number[];
}

/** More flows than that share the last row. */
const MOST = 7;

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
  const always = Array.from({ length: Math.min(lasting, MOST) }, (_, i) => i);
  // Connections that come and go take the rows that are left; how many rows there are does not change.
  const others = [...byFlow.keys()].filter(number => number >= always.length).sort((one, two) => one - two);
  const guests = others.splice(0, run.comesAndGoes ? MOST - always.length : 0);
  const shown = [...always, ...guests].map(number => ({ label: String(number), packets: byFlow.get(number) ?? [] }));
  while (run.comesAndGoes && shown.length < MOST) shown.push({ label: "", packets: [] });
  const rest = others.flatMap(number => byFlow.get(number)!).sort((one, two) => one - two);
  if (lasting > MOST || run.comesAndGoes) shown.push({ label: "…", packets: rest });
  return shown;
}
