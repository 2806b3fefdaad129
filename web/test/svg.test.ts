import assert from "node:assert/strict";
import { test } from "node:test";
import { SvgPen } from "../src/plots/pen.js";
import { render } from "../src/plots/render.js";
import type { Panel } from "../src/plots/model.js";
import { PALETTES } from "../src/style/palette.js";

const panel: Panel = {
  title: '<script>alert("A")</script>',
  x: { label: "time, s", from: 0, to: 7 },
  y: { label: "a & b", from: 0, to: 13 },
  marks: [
    {
      kind: "line",
      name: "A",
      ink: "a",
      points: { x: Float64Array.of(0, 1, 2, 7), y: Float64Array.of(1, NaN, 3, 12) },
    },
    { kind: "rules", name: "drops", ink: "b", x: [1, 6.5, 99], row: 0 },
    { kind: "band", name: "published", ink: "band", along: "y", from: 3, to: 5, alpha: 0.2 },
    { kind: "level", name: "target", ink: "target", y: 5 },
    { kind: "points", name: "pages", ink: "b", points: { x: Float64Array.of(3), y: Float64Array.of(4) } },
  ],
  time: true,
};

test("names are text in SVG, not markup", () => {
  const pen = new SvgPen();
  render(panel, pen, { x: 0, y: 0, width: 400, height: 200 }, PALETTES.light);
  const svg = pen.toString(400, 200, "#fff", "<b>");
  assert.ok(!svg.includes("<script") && !svg.includes("<b>"));
  assert.ok(svg.includes("&#60;script&#62;") && svg.includes("a &#38; b"));
});

test("a gap in a line is a gap in its path, and points outside are not drawn", () => {
  const pen = new SvgPen();
  render(panel, pen, { x: 0, y: 0, width: 400, height: 200 }, PALETTES.dark);
  const svg = pen.toString(400, 200, "#000", "");
  const line = svg.match(/<path d="(M[^"]*L[^"]*)" [^>]*stroke="#6db3ff"/)![1]!;
  assert.equal(line.match(/M/g)!.length, 2);
  assert.equal(svg.match(/V/g)!.length, 2);
  assert.ok(!svg.includes("NaN"));
});
