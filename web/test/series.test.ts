import assert from "node:assert/strict";
import { test } from "node:test";
import { decimate, distribution, quantile } from "../src/sim/series.js";
import { ceiling, share, at, ticks, tickText } from "../src/plots/ticks.js";

/** A deterministic walk with irregular steps. */
function walk(count: number): { x: Float64Array; y: Float64Array } {
  const x = new Float64Array(count);
  const y = new Float64Array(count);
  let seed = 12345;
  for (let i = 0; i < count; i++) {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    x[i] = i * 0.37;
    y[i] = (i ? y[i - 1]! : 0) + (seed / 0x7fffffff - 0.5);
  }
  return { x, y };
}

test("decimation keeps the extremes of every bin", () => {
  const all = walk(9973);
  const [from, to, bins] = [100, 3000, 211];
  const few = decimate(all, from, to, bins);
  assert.ok(few.x.length <= 4 * bins + 8 && few.x.length > bins);
  const width = (to - from) / bins;
  for (let bin = 0; bin < bins; bin++) {
    const within = (x: number): boolean => x >= from + bin * width && x < from + (bin + 1) * width;
    const [whole, kept] = [all, few].map(points => points.y.filter((_, i) => within(points.x[i]!)));
    assert.equal(Math.max(...kept!), Math.max(...whole!));
    assert.equal(Math.min(...kept!), Math.min(...whole!));
  }
  assert.deepEqual(
    [...few.x],
    [...few.x].sort((one, two) => one - two),
  );
});

test("few points are not decimated", () => {
  const all = walk(50);
  assert.deepEqual(decimate(all, -1, 100, 100), all);
});

test("quantiles are nearest ranks", () => {
  const sorted = Float64Array.from([3, 1, 4, 1, 5, 9, 2]).sort();
  assert.deepEqual(
    [0, 0.5, 0.99, 1].map(p => quantile(sorted, p)),
    [1, 3, 9, 9],
  );
  assert.ok(Number.isNaN(quantile(new Float64Array(0), 0.5)));
});

test("a distribution function rises from 0 to 1", () => {
  const { x, y } = distribution(walk(1000).y.sort(), 37);
  assert.deepEqual([y[0], y[36]], [0, 1]);
  for (let i = 1; i < 37; i++) assert.ok(x[i]! >= x[i - 1]! && y[i]! > y[i - 1]!);
});

test("ticks are round and lie within the axis", () => {
  assert.deepEqual(ticks({ label: "", from: 0, to: 60 }, 6), [0, 10, 20, 30, 40, 50, 60]);
  assert.deepEqual(ticks({ label: "", from: 0.1, to: 300, log: true }, 5), [0.1, 1, 10, 100]);
  assert.deepEqual([0, 0.25, 1500, 25_000, 2.5e6].map(tickText), ["0", "0.25", "1500", "25k", "2.5M"]);
  assert.deepEqual([0, 0.9, 1.1, 17, 249].map(ceiling), [1, 1, 1.2, 20, 250]);
});

test("an axis and its inverse agree", () => {
  for (const axis of [
    { label: "", from: 3, to: 17 },
    { label: "", from: 0.1, to: 900, log: true },
  ])
    for (const place of [0, 0.31, 1]) assert.ok(Math.abs(share(axis, at(axis, place)) - place) < 1e-12);
});
