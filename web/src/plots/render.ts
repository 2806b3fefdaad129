/** Draws a panel with any pen. */

import { decimate, envelope } from "../sim/series.js";
import type { Palette } from "../style/palette.js";
import type { Mark, Panel } from "./model.js";
import type { Pen } from "./pen.js";
import { share, ticks, tickText } from "./ticks.js";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Data area of a panel. */
export function inner({ x, y, width, height }: Box, title: boolean): Box {
  const top = title ? 36 : 20;
  return { x: x + 46, y: y + top, width: Math.max(10, width - 46 - 10), height: Math.max(10, height - top - 34) };
}

/** Maximum number of vertical lines at full height; more are drawn as a rug. */
const MAX_FULL_HEIGHT = 40;
const RUG = 7;

export function render(panel: Panel, pen: Pen, box: Box, palette: Palette): void {
  const plot = inner(box, panel.title !== "");
  const { x, y } = panel;
  const px = (value: number): number => plot.x + share(x, value) * plot.width;
  const py = (value: number): number => plot.y + (1 - share(y, value)) * plot.height;
  const muted = palette.muted;
  const room = Math.floor(box.width / 6.6);
  const title = panel.title.length > room ? `${panel.title.slice(0, room - 1)}…` : panel.title;
  if (title) pen.text(box.x + 2, box.y + 8, title, { colour: palette.text, size: 12, bold: true });
  pen.text(box.x + 2, plot.y - 11, y.label, { colour: muted });
  for (const tick of ticks(y, plot.height / 34)) {
    const at = Math.round(py(tick)) + 0.5;
    pen.polyline([plot.x, plot.x + plot.width], [at, at], { colour: palette.grid });
    pen.text(plot.x - 6, at, tickText(tick), { colour: muted, anchor: "end" });
  }
  const across = ticks(x, plot.width / 62);
  for (const tick of across) {
    const at = px(tick);
    pen.polyline([at, at], [plot.y + plot.height, plot.y + plot.height + 4], { colour: muted });
    pen.text(at, plot.y + plot.height + 7, tickText(tick), { colour: muted, anchor: "middle", baseline: "top" });
  }
  pen.text(plot.x + plot.width, plot.y + plot.height + 33, x.label, {
    colour: muted,
    anchor: "end",
    baseline: "bottom",
  });
  pen.within(plot.x, plot.y, plot.width, plot.height, () => {
    const layers = [...panel.marks].sort((one, two) => depth(one) - depth(two));
    for (const mark of layers) drawMark(mark, pen, plot, px, py, panel, palette);
  });
  const axis = plot.y + plot.height + 0.5;
  pen.polyline([plot.x, plot.x + plot.width], [axis, axis], { colour: muted });
}

/** Drawing order: bands first, levels last. */
const depth = (mark: Mark): number => ["band", "rules", "line", "points", "level", "upright"].indexOf(mark.kind);

function drawMark(
  mark: Mark,
  pen: Pen,
  plot: Box,
  px: (value: number) => number,
  py: (value: number) => number,
  panel: Panel,
  palette: Palette,
): void {
  const colour = palette.ink(mark.ink);
  const bottom = plot.y + plot.height;
  if (mark.kind === "band") {
    const [low, high] = mark.along === "x" ? [px(mark.from), px(mark.to)] : [py(mark.to), py(mark.from)];
    if (mark.along === "x") pen.rect(low, plot.y, Math.max(2, high - low), plot.height, colour, mark.alpha);
    else pen.rect(plot.x, low, plot.width, Math.max(2, high - low), colour, mark.alpha);
  } else if (mark.kind === "level") {
    const at = Math.round(py(mark.y)) + 0.5;
    pen.polyline([plot.x, plot.x + plot.width], [at, at], { colour, width: 1.5, dash: [5, 4] });
  } else if (mark.kind === "upright") {
    const at = px(mark.x);
    pen.polyline([at, at], [plot.y, bottom], { colour, width: 1.5, dash: [5, 4] });
  } else if (mark.kind === "rules") {
    const shown = Array.from(mark.x).filter(value => value >= panel.x.from && value <= panel.x.to);
    const places = [...new Set(shown.map(value => Math.round(px(value)) + 0.5))];
    const few = shown.length <= MAX_FULL_HEIGHT;
    const base = bottom - mark.row * (RUG + 2);
    if (few) pen.uprights(places, plot.y, bottom, { colour, alpha: 0.45 });
    else pen.uprights(places, base - RUG, base, { colour, alpha: 0.8 });
  } else if (mark.kind === "points") {
    pen.dots(Array.from(mark.points.x, px), Array.from(mark.points.y, py), mark.radius ?? 2.5, colour);
  } else {
    const shape = mark.dense && envelope(mark.points, panel.x.from, panel.x.to, Math.round(plot.width / 2));
    if (shape) {
      const xs = shape.x.map(px);
      pen.area(xs, shape.low.map(py), shape.high.map(py), colour, 0.28);
      pen.polyline(xs, shape.mean.map(py), { colour, width: 1.5 });
      return;
    }
    const few = decimate(mark.points, panel.x.from, panel.x.to, Math.max(50, Math.round(plot.width)));
    const [xs, ys] = mark.steps ? stairs(few.x, few.y) : [few.x, few.y];
    const lineX = new Float64Array(xs.length);
    const lineY = new Float64Array(xs.length);
    for (let i = 0; i < xs.length; i++) {
      lineX[i] = px(xs[i]!);
      lineY[i] = py(ys[i]!);
    }
    pen.polyline(lineX, lineY, { colour, width: mark.width ?? 1.25, alpha: mark.alpha ?? 1 });
  }
}

/** Points of a step function: a value is constant until the next one. */
function stairs(x: Float64Array, y: Float64Array): [number[], number[]] {
  const [outX, outY]: [number[], number[]] = [[], []];
  for (let i = 0; i < x.length; i++) {
    if (i > 0) {
      outX.push(x[i]!);
      outY.push(y[i - 1]!);
    }
    outX.push(x[i]!);
    outY.push(y[i]!);
  }
  return [outX, outY];
}
