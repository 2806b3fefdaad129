/** State variables of the queue manager over time: CoDel's count, PIE's probability, RED's average. */

import type { SideRun } from "../sim/run.js";
import type { Side } from "../model/state.js";
import { ceiling } from "./ticks.js";
import { maximum, LETTERS, timeAxis, type PlotKind } from "./input.js";
import type { Ink, Mark, Panel } from "./model.js";

/** Groups of variables that share an axis; the first group found is drawn. */
const GROUPS: { names: string[]; label: string; scale: number }[] = [
  { names: ["p_c", "p_cl"], label: "probability, %", scale: 100 },
  { names: ["p"], label: "probability, %", scale: 100 },
  { names: ["prob"], label: "probability, %", scale: 100 },
  { names: ["count"], label: "count", scale: 1 },
  { names: ["avg"], label: "average queue, B or packets", scale: 1 },
];

const INKS: Ink[] = ["text", "band", "target"];

function curves(run: SideRun): { label: string; marks: Mark[] } | null {
  for (const { names, label, scale } of GROUPS) {
    const marks = names.flatMap((name, i): Mark[] => {
      const points = run.state(name);
      if (!points) return [];
      const scaled = { x: points.x, y: points.y.map(value => value * scale) };
      return [{ kind: "line", name, ink: INKS[i]!, points: scaled, steps: true }];
    });
    if (marks.length) return { label, marks };
  }
  return null;
}

export const state: PlotKind = {
  id: "state",
  title: "State of the queue manager",
  plot(input) {
    const x = timeAxis(input);
    const panels = (["a", "b"] as const).flatMap((side: Side): Panel[] => {
      const run = input.runs[side];
      const found = run && curves(run);
      if (!found) return [];
      const marks = found.marks.map(mark =>
        found.marks.length === 1 && mark.kind === "line" ? { ...mark, ink: side as Ink } : mark,
      );
      for (const { side: of, claim, quantity } of input.published) {
        if (of !== side || quantity !== "count50") continue;
        const band = { kind: "band", ink: side, along: "y" } as const;
        marks.push({ ...band, name: "", from: claim.loose_lo, to: claim.loose_hi, alpha: 0.12 });
        marks.push({ kind: "level", name: "published", ink: side, y: claim.expected });
      }
      const to = ceiling(Math.max(maximum(found.marks, x), ...marks.map(mark => (mark.kind === "band" ? mark.to : 0))));
      const title = `${LETTERS[side]}  ${input.names[side]}`;
      return [{ title, x, y: { label: found.label, from: 0, to }, marks, time: true }];
    });
    if (!panels.length) return null;
    // Panels of the same quantity share a scale.
    for (const panel of panels)
      panel.y.to = Math.max(...panels.filter(other => other.y.label === panel.y.label).map(other => other.y.to));
    const text = panels.map(panel => `${panel.title}, ${panel.y.label}, up to ${panel.y.to}`).join(". ");
    return { panels, summary: `State of the queue managers. ${text}.`, log: { offered: false, on: false } };
  },
};
