import assert from "node:assert/strict";
import { test } from "node:test";
import { luminance, PALETTES } from "../src/style/palette.js";

/** Kinds of colour blindness, complete (Machado, Oliveira and Fernandes, 2009), as matrices over linear RGB. */
const SIGHTS: Record<string, number[][]> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function lab(colour: string, sight: number[][]): number[] {
  const linear = [1, 3, 5].map(at => {
    const value = parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  const seen = sight.map(row =>
    Math.min(
      1,
      Math.max(
        0,
        row.reduce((sum, weight, i) => sum + weight * linear[i]!, 0),
      ),
    ),
  );
  const [r = 0, g = 0, b = 0] = seen;
  const f = (t: number): number => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
  const y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const distance = (one: number[], two: number[]): number => Math.hypot(...one.map((value, i) => value - two[i]!));

const contrast = (one: string, two: string): number => {
  const [low = 0, high = 0] = [luminance(one), luminance(two)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};

for (const palette of Object.values(PALETTES)) {
  const flows = Array.from({ length: 7 }, (_, i) => palette.flow(i));
  for (const [sight, matrix] of Object.entries(SIGHTS))
    test(`${palette.theme}: flows and sides are distinguishable with ${sight}`, () => {
      for (const group of [flows, [palette.ink("a"), palette.ink("b")]])
        for (const [i, one] of group.entries())
          for (const two of group.slice(i + 1)) {
            const apart = distance(lab(one, matrix), lab(two, matrix));
            assert.ok(apart > 25, `${one} and ${two}: ${apart.toFixed(1)}`);
          }
    });

  test(`${palette.theme}: all colours have contrast with their background`, () => {
    for (const [i, flow] of flows.entries()) {
      assert.ok(contrast(flow, palette.background) > 2.6, flow);
      assert.ok(contrast(palette.onFlow(i), flow) > 4, flow);
    }
    for (const ink of ["a", "b", "target", "muted"] as const)
      assert.ok(contrast(palette.ink(ink), palette.background) > 4.5, ink);
    assert.ok(contrast(palette.drop, palette.background) > 4.5);
  });
}
