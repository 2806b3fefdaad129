/** Goodput and congestion window of every flow, with one scale for A and B. */

import { digits } from "../base/quantity.js";
import type { SideRun } from "../sim/run.js";
import { averaged, type Points } from "../sim/series.js";
import { LETTERS, sideBySide, type PlotInput, type PlotKind } from "./input.js";
import type { Mark } from "./model.js";

/** Maximum number of named lines; further ones are thin. */
const NAMED = 8;
/** Number of intervals over which goodput is averaged; shorter ones show single bursts. */
const POINTS = 100;

function lines(series: Map<number, Points>, scale: number): Mark[] {
  const many = series.size > NAMED;
  return [...series].flatMap(([flow, points]) => {
    if (points.y.every(Number.isNaN)) return [];
    const scaled = scale === 1 ? points : { x: points.x, y: points.y.map(value => value * scale) };
    const name = many ? "" : `flow ${flow}`;
    return [{ kind: "line", name, ink: `flow${flow}`, points: scaled, width: 1.25, alpha: many ? 0.5 : 0.9 } as const];
  });
}

export const goodput: PlotKind = {
  id: "goodput",
  title: "Goodput of each flow",
  plot(input) {
    const marks = (run: SideRun): Mark[] => {
      const series = run.flowSeries("goodput_bps");
      const size = Math.ceil(Math.max(...[...series.values()].map(points => points.x.length)) / POINTS);
      return lines(new Map([...series].map(([flow, points]) => [flow, averaged(points, size)])), 1e-6);
    };
    return sideBySide(input, "goodput, Mbit/s", marks, summary(input), 0.1);
  },
};

function summary({ runs }: PlotInput): string {
  const parts = (["a", "b"] as const).flatMap(side => {
    const summary = runs[side]?.outcome.summary;
    if (!summary) return [];
    const each = summary.flows.map(flow => `flow ${flow.id} ${digits(flow.goodput_bps / 1e6, 3)}`).slice(0, NAMED);
    return [`${LETTERS[side]}: ${digits(summary.goodput_bps / 1e6, 3)} Mbit/s in all, ${each.join(", ")}`];
  });
  return `Goodput of each flow. ${parts.join(". ")}.`;
}

export const cwnd: PlotKind = {
  id: "cwnd",
  title: "Congestion window of each flow",
  plot(input) {
    const marks = (run: SideRun): Mark[] =>
      lines(run.flowSeries("cwnd"), 1).map(mark => (mark.kind === "line" ? { ...mark, steps: true } : mark));
    const text = "Congestion window of each flow in segments, over the run.";
    return sideBySide(input, "window, segments", marks, text, 1);
  },
};
