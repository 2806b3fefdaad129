/** Input of plots, and common helpers. */

import type { SideRun } from "../sim/run.js";
import type { Side } from "../model/state.js";
import type { Published } from "../papers/case.js";
import { digits } from "../base/quantity.js";
import type { Axis, Mark, Panel, Plot } from "./model.js";
import { ceiling } from "./ticks.js";

export interface PlotInput {
  runs: Record<Side, SideRun | null>;
  /** Display names of the two queue managers. */
  names: Record<Side, string>;
  /** Target of a side's queue manager in ms; null if it has none. */
  targets: Record<Side, number | null>;
  /** Time range shown, in s; null for the whole run. */
  zoom: [number, number] | null;
  /** Published values to draw; empty without a paper. */
  published: Published[];
  /** Logarithmic value axis, as set by the user; null to choose from the data. */
  log: boolean | null;
}

export interface PlotKind {
  id: string;
  title: string;
  /** Null if there is no data. */
  plot(input: PlotInput): Plot | null;
}

export const LETTERS: Record<Side, string> = { a: "A", b: "B" };

export function timeAxis({ runs, zoom }: PlotInput): Axis {
  const end = Math.max(...(["a", "b"] as const).map(side => (runs[side]?.outcome.duration_ns ?? 0) / 1e9));
  const [from, to] = zoom ?? [0, end || 1];
  return { label: "time, s", from, to };
}

/** Maximum of the marks within the visible range. */
export function maximum(marks: Mark[], x: Axis): number {
  let most = 0;
  for (const mark of marks) {
    if (mark.kind !== "line" && mark.kind !== "points") continue;
    const { points } = mark;
    for (let i = 0; i < points.x.length; i++) {
      const value = points.y[i]!;
      if (points.x[i]! >= x.from && points.x[i]! <= x.to && value > most && Number.isFinite(value)) most = value;
    }
  }
  return most;
}

/** Two panels, A and B, with one scale; null if neither has data. */
export function sideBySide(
  input: PlotInput,
  label: string,
  marks: (run: SideRun, side: Side) => Mark[],
  summary: string,
  least = 0,
): Plot | null {
  const x = timeAxis(input);
  const both = (["a", "b"] as const).map(side => {
    const run = input.runs[side];
    return { side, marks: run ? marks(run, side) : [] };
  });
  if (both.every(panel => !panel.marks.length)) return null;
  const to = ceiling(Math.max(least, ...both.map(panel => maximum(panel.marks, x))));
  const panels: Panel[] = both.map(panel => ({
    title: `${LETTERS[panel.side]}  ${input.names[panel.side]}`,
    x,
    y: { label, from: 0, to },
    marks: panel.marks,
    time: true,
  }));
  return { panels, summary, log: { offered: false, on: false } };
}

export const ms = (value: number): string => `${digits(value, 3)} ms`;
