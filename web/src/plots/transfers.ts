/** Load times of web pages and other transfers, over their start time. */

import { digits } from "../base/quantity.js";
import type { SideRun } from "../sim/run.js";
import type { Points } from "../sim/series.js";
import { ceiling } from "./ticks.js";
import { maximum, LETTERS, timeAxis, type PlotKind } from "./input.js";
import type { Mark } from "./model.js";

/** Load times in s. */
export function loadTimes(run: SideRun): Points | null {
  const table = run.outcome.tables["transfers"];
  const [start, duration] = [table?.["start_ns"], table?.["duration_ns"]];
  if (!start || !duration || !start.length) return null;
  const order = Array.from(start.keys()).sort((one, two) => start[one]! - start[two]!);
  return {
    x: Float64Array.from(order, row => start[row]! / 1e9),
    y: Float64Array.from(order, row => duration[row]! / 1e9),
  };
}

export const transfers: PlotKind = {
  id: "transfers",
  title: "Load time of pages and transfers",
  plot(input) {
    const x = timeAxis(input);
    const marks: Mark[] = [];
    const parts: string[] = [];
    for (const side of ["a", "b"] as const) {
      const run = input.runs[side];
      const points = run && loadTimes(run);
      if (!points) continue;
      marks.push({ kind: "points", name: LETTERS[side], ink: side, points });
      const sorted = points.y.slice().sort();
      parts.push(`${LETTERS[side]}: ${sorted.length}, median ${digits(sorted[sorted.length >> 1]!, 3)} s`);
    }
    if (!marks.length) return null;
    const log = input.log ?? false;
    const to = ceiling(maximum(marks, x));
    return {
      panels: [{ title: "", x, y: { label: "load time, s", from: log ? 0.01 : 0, to, log }, marks, time: true }],
      summary: `Load times, by when the page was asked for. ${parts.join(". ")}.`,
      log: { offered: true, on: log },
    };
  },
};
