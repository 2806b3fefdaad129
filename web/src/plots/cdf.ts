/** CDFs of the sojourn time of both sides, after the warm-up. */

import { digits } from "../base/quantity.js";
import { ceiling } from "./ticks.js";
import { LETTERS, type PlotKind } from "./input.js";
import type { Mark } from "./model.js";

const MIN_MS = 0.1;

export const cdf: PlotKind = {
  id: "cdf",
  title: "Distribution of the sojourn time",
  plot(input) {
    const marks: Mark[] = [];
    const highs: number[] = [];
    const medians: number[] = [];
    for (const side of ["a", "b"] as const) {
      const run = input.runs[side];
      if (!run?.sorted.length) continue;
      marks.push({ kind: "line", name: LETTERS[side], ink: side, points: run.distribution, width: 2 });
      highs.push(run.sojournQuantile(0.999));
      medians.push(run.sojournQuantile(0.5));
    }
    if (!marks.length) return null;
    for (const { side, claim, quantity } of input.published) {
      if (quantity !== "mean" && quantity !== "p99") continue;
      const name = `published ${quantity === "mean" ? "mean" : "99 %"}, ${LETTERS[side]}`;
      const band = { kind: "band", ink: side, along: "x" } as const;
      marks.push({ ...band, name: "", from: claim.loose_lo, to: claim.loose_hi, alpha: 0.1 });
      marks.push({ ...band, name: "", from: claim.tight_lo, to: claim.tight_hi, alpha: 0.22 });
      marks.push({ kind: "upright", name, ink: side, x: claim.expected });
      highs.push(claim.loose_hi);
    }
    const log = input.log ?? Math.max(...medians) / Math.max(MIN_MS, Math.min(...medians)) > 20;
    const to = ceiling(Math.max(...highs));
    const x = { label: "sojourn time, ms", from: log ? MIN_MS : 0, to: Math.max(to, log ? 1 : 0), log };
    const y = { label: "share of packets", from: 0, to: 1 };
    const parts = (["a", "b"] as const).map(side => {
      const run = input.runs[side];
      const at = (p: number): string => digits(run?.sojournQuantile(p) ?? NaN, 3);
      return run ? `${LETTERS[side]}: quartiles ${at(0.25)}, ${at(0.5)} and ${at(0.75)} ms, 95 % ${at(0.95)} ms` : "";
    });
    return {
      panels: [{ title: "", x, y, marks, time: false }],
      summary: `Distribution of the sojourn time. ${parts.filter(Boolean).join(". ")}.`,
      log: { offered: true, on: log },
    };
  },
};
