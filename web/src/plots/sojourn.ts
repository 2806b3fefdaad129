/** Sojourn time of every packet over its departure time, drops as vertical lines. */

import { ceiling } from "./ticks.js";
import { maximum, LETTERS, ms, timeAxis, type PlotInput, type PlotKind } from "./input.js";
import type { Mark } from "./model.js";

/** Lower end of a logarithmic axis. */
const MIN_MS = 0.1;
/** Ratio of the maximum to the smaller median above which the axis is logarithmic. */
const LOG_RATIO = 30;

export const sojourn: PlotKind = {
  id: "sojourn",
  title: "Sojourn time",
  plot(input) {
    const x = timeAxis(input);
    const lines: Mark[] = [];
    const others: Mark[] = [];
    (["a", "b"] as const).forEach((side, row) => {
      const run = input.runs[side];
      if (!run) return;
      lines.push({ kind: "line", name: LETTERS[side], ink: side, points: run.sojourn, dense: true });
      others.push({ kind: "rules", name: `drops ${LETTERS[side]}`, ink: side, x: run.drops, row });
      const target = input.targets[side];
      if (target) others.push({ kind: "level", name: `target ${LETTERS[side]}`, ink: "target", y: target });
    });
    if (!lines.length) return null;
    for (const { side, claim, quantity } of input.published) {
      if (quantity !== "max" && quantity !== "max200") continue;
      const band = { kind: "band", name: "", ink: side, along: "y" } as const;
      others.push({ ...band, from: claim.loose_lo, to: claim.loose_hi, alpha: 0.12 });
      others.push({ ...band, from: claim.tight_lo, to: claim.tight_hi, alpha: 0.2 });
      others.push({ kind: "level", name: `published maximum, ${LETTERS[side]}`, ink: side, y: claim.expected });
    }
    const to = ceiling(maximum(lines, x));
    const medians = medianSojourns(input);
    const log = input.log ?? to / Math.max(MIN_MS, Math.min(to, ...medians)) > LOG_RATIO;
    const foot = Math.min(1, Math.max(MIN_MS, 10 ** Math.floor(Math.log10(Math.min(1e3, ...medians) / 3))));
    const y = { label: "sojourn time, ms", from: log ? foot : 0, to: Math.max(to, log ? 10 * foot : 0), log };
    return {
      panels: [{ title: "", x, y, marks: [...others, ...lines], time: true }],
      summary: describe(input),
      note: "for dense packets: mean, and shaded from minimum to maximum",
      log: { offered: true, on: log },
    };
  },
};

/** Median sojourn times of both sides, in ms. */
function medianSojourns({ runs }: PlotInput): number[] {
  const medians = (["a", "b"] as const).map(side => runs[side]?.sojournQuantile(0.5) ?? NaN);
  return [...medians.filter(value => value > 0), Infinity].slice(0, 2);
}

function describe({ runs, names }: PlotInput): string {
  const parts = (["a", "b"] as const).flatMap(side => {
    const run = runs[side];
    if (!run) return [];
    const [median, high] = [run.sojournQuantile(0.5), run.sojournQuantile(0.99)];
    return [
      `${LETTERS[side]}, ${names[side]}: median ${ms(median)}, 99 % below ${ms(high)}, ${run.drops.length} drops`,
    ];
  });
  return `Sojourn time over the run. ${parts.join(". ")}.`;
}
