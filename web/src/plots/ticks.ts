/** Positions and labels of an axis' ticks. */

import { digits } from "../base/quantity.js";
import type { Axis } from "./model.js";

/** About `count` round values; on a logarithmic axis decades, with 2 and 5 if there is room. */
export function ticks(axis: Axis, count: number): number[] {
  return axis.log ? decades(axis.from, axis.to, count) : rounds(axis.from, axis.to, count);
}

function rounds(from: number, to: number, count: number): number[] {
  const raw = (to - from) / Math.max(1, count);
  if (!(raw > 0)) return [from];
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(factor => factor * size).find(candidate => candidate >= raw) ?? 10 * size;
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
}

function decades(from: number, to: number, count: number): number[] {
  const [low, high] = [Math.floor(Math.log10(from)), Math.ceil(Math.log10(to))];
  const factors = high - low > count / 2 ? [1] : high - low > count / 3 ? [1, 3] : [1, 2, 5];
  const all: number[] = [];
  for (let exponent = low; exponent <= high; exponent++)
    for (const factor of factors) all.push(factor * 10 ** exponent);
  return all.filter(tick => tick >= from * 0.999 && tick <= to * 1.001);
}

export const tickText = (value: number): string => {
  if (value === 0) return "0";
  const magnitude = Math.abs(value);
  if (magnitude >= 1e6) return `${digits(value / 1e6, 3)}M`;
  if (magnitude >= 1e4) return `${digits(value / 1e3, 3)}k`;
  return digits(value, 4);
};

/** Position of a value on an axis, from 0 to 1. */
export function share(axis: Axis, value: number): number {
  if (!axis.log) return (value - axis.from) / (axis.to - axis.from);
  const low = Math.log(axis.from);
  return (Math.log(Math.max(value, axis.from * 1e-3)) - low) / (Math.log(axis.to) - low);
}

/** Value at a position from 0 to 1. */
export function at(axis: Axis, place: number): number {
  if (!axis.log) return axis.from + place * (axis.to - axis.from);
  return Math.exp(Math.log(axis.from) + place * (Math.log(axis.to) - Math.log(axis.from)));
}

/** Smallest round value at or above `value`, so that the axis ends at a tick. */
export function ceiling(value: number): number {
  if (!(value > 0)) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map(factor => factor * size).find(round => round >= value) ?? value;
}
