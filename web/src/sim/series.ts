/** Reductions of columns for plots: decimation, envelopes, quantiles and CDFs. */

export interface Points {
  x: Float64Array;
  y: Float64Array;
}

/**
 * At most four points per bin of [`from`, `to`]: first, minimum, maximum, last. With one bin per pixel, a line through
 * them looks like the line through all points (M4, Jugel et al., VLDB 2014).
 */
export function decimate(points: Points, from: number, to: number, bins: number): Points {
  const { x, y } = points;
  const [begin, end] = [lowerBound(x, from), lowerBound(x, to)];
  const [first, last] = [Math.max(0, begin - 1), Math.min(x.length, end + 1)];
  if (last - first <= bins * 4) return { x: x.subarray(first, last), y: y.subarray(first, last) };
  const outX: number[] = [];
  const outY: number[] = [];
  const width = (to - from) / bins;
  let i = first;
  while (i < last) {
    const bin = Math.floor((x[i]! - from) / width);
    const limit = from + (bin + 1) * width;
    const start = i;
    let [low, high] = [i, i];
    for (; i < last && (x[i]! < limit || i === start); i++) {
      if (y[i]! < y[low]!) low = i;
      if (y[i]! > y[high]!) high = i;
    }
    const places = [...new Set([start, Math.min(low, high), Math.max(low, high), i - 1])];
    for (const place of places) {
      outX.push(x[place]!);
      outY.push(y[place]!);
    }
  }
  return { x: Float64Array.from(outX), y: Float64Array.from(outY) };
}

/** Minimum, mean and maximum per non-empty bin of [`from`, `to`]. */
export interface Envelope {
  x: Float64Array;
  low: Float64Array;
  mean: Float64Array;
  high: Float64Array;
}

/** Null if there are few enough points to draw all of them. */
export function envelope({ x, y }: Points, from: number, to: number, bins: number): Envelope | null {
  const [first, last] = [lowerBound(x, from), lowerBound(x, to)];
  if (last - first <= bins * 3) return null;
  const [count, sum] = [new Uint32Array(bins), new Float64Array(bins)];
  const [low, high] = [new Float64Array(bins).fill(Infinity), new Float64Array(bins).fill(-Infinity)];
  const scale = bins / (to - from);
  for (let i = first; i < last; i++) {
    const bin = Math.min(bins - 1, Math.floor((x[i]! - from) * scale));
    const value = y[i]!;
    count[bin]!++;
    sum[bin]! += value;
    if (value < low[bin]!) low[bin] = value;
    if (value > high[bin]!) high[bin] = value;
  }
  const filled = [...count.keys()].filter(bin => count[bin]);
  const of = (value: (bin: number) => number): Float64Array => Float64Array.from(filled, value);
  return {
    x: of(bin => from + (bin + 0.5) / scale),
    low: of(bin => low[bin]!),
    mean: of(bin => sum[bin]! / count[bin]!),
    high: of(bin => high[bin]!),
  };
}

/** Means over `size` points each. */
export function averaged({ x, y }: Points, size: number): Points {
  const count = Math.floor(y.length / size);
  const out: Points = { x: new Float64Array(count), y: new Float64Array(count) };
  for (let i = 0; i < count; i++) {
    let sum = 0;
    for (let k = i * size; k < (i + 1) * size; k++) sum += y[k]!;
    out.x[i] = x[(i + 1) * size - 1]!;
    out.y[i] = sum / size;
  }
  return out;
}

/** First index of an ascending column with a value of at least `limit`. */
export function lowerBound(column: Float64Array, limit: number): number {
  let [low, high] = [0, column.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle]! < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Quantile `p` of a sorted column (nearest rank); NaN if empty. */
export function quantile(sorted: Float64Array, p: number): number {
  if (!sorted.length) return NaN;
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(p * sorted.length) - 1))]!;
}

export function mean(column: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < column.length; i++) sum += column[i]!;
  return column.length ? sum / column.length : NaN;
}

/** Empirical CDF of a sorted column, in `steps` points. */
export function distribution(sorted: Float64Array, steps = 400): Points {
  const count = Math.min(steps, sorted.length);
  const x = new Float64Array(count);
  const y = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const p = count === 1 ? 1 : i / (count - 1);
    x[i] = quantile(sorted, p);
    y[i] = p;
  }
  return { x, y };
}
