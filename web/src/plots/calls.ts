/** Calls and games: sojourn times and losses of their packets. */

import { digits } from "../base/quantity.js";
import type { SideRun } from "../sim/run.js";
import { isDrop } from "../sim/packets.js";
import { WAITING } from "../sim/protocol.js";
import type { Points } from "../sim/series.js";
import { ceiling } from "./ticks.js";
import { maximum, LETTERS, timeAxis, type PlotKind } from "./input.js";
import type { Mark } from "./model.js";

/** Sojourn time above which a packet is late: too late for a game, or for a call's playout buffer. */
export const LATE_MS = 50;

/** Mean opinion score of the calls; null without calls. */
export function meanOpinion(run: SideRun): number | null {
  const calls = run.outcome.summary?.groups.filter(group => group.mos !== null) ?? [];
  return calls.length ? calls.reduce((sum, group) => sum + group.mos!, 0) / calls.length : null;
}

/** Flows that send at a constant rate. */
export const pacedFlows = (run: SideRun): number[] => [...run.flowsOf("voice"), ...run.flowsOf("cbr")];

function packets(run: SideRun, flows: number[]): { waits: Points; lost: number[] } {
  const wanted = new Set(flows);
  const { time, sojourn, flow, fate } = run.packets;
  const [x, y, lost]: number[][] = [[], [], []];
  for (let row = 0; row < time.length; row++) {
    if (!wanted.has(flow[row]!) || fate[row] === WAITING) continue;
    if (isDrop(fate[row]!)) lost!.push(time[row]! / 1e9);
    else {
      x!.push(time[row]! / 1e9);
      y!.push(sojourn[row]! / 1e6);
    }
  }
  return { waits: { x: Float64Array.from(x!), y: Float64Array.from(y!) }, lost: lost! };
}

export const calls: PlotKind = {
  id: "calls",
  title: "Calls and games: time in the queue",
  plot(input) {
    const x = timeAxis(input);
    const marks: Mark[] = [];
    const parts: string[] = [];
    (["a", "b"] as const).forEach((side, row) => {
      const run = input.runs[side];
      const flows = run ? pacedFlows(run) : [];
      if (!run || !flows.length) return;
      const { waits, lost } = packets(run, flows);
      const score = meanOpinion(run);
      const name = `${LETTERS[side]}${score === null ? "" : `, MOS ${digits(score, 3)}`}`;
      marks.push({ kind: "points", name, ink: side, points: waits, radius: 1.5 });
      marks.push({ kind: "rules", name: `lost ${LETTERS[side]}`, ink: side, x: lost, row });
      const late = run.late(flows, LATE_MS * 1e6);
      parts.push(`${name}, ${digits(late * 100, 3)} % lost or late, ${lost.length} lost`);
    });
    if (!marks.length) return null;
    const to = ceiling(Math.max(LATE_MS * 1.2, maximum(marks, x)));
    marks.push({ kind: "level", name: `late: ${LATE_MS} ms`, ink: "target", y: LATE_MS });
    const log = input.log ?? to > 4 * LATE_MS;
    return {
      panels: [{ title: "", x, y: { label: "sojourn time, ms", from: log ? 0.1 : 0, to, log }, marks, time: true }],
      summary: `Packets of calls and games. ${parts.join(". ")}.`,
      log: { offered: true, on: log },
    };
  },
};
