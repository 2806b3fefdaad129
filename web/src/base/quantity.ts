/** Quantities as scenario files spell them: a number and a unit. */

export type Dimension = "time" | "rate" | "bytes" | "packets";

/** Units from the largest to the smallest; the base unit of each dimension is ns, bit/s, B, packets. */
const UNITS: Record<Dimension, [string, number][]> = {
  time: [
    ["s", 1e9],
    ["ms", 1e6],
    ["us", 1e3],
    ["ns", 1],
  ],
  rate: [
    ["Gbit/s", 1e9],
    ["Mbit/s", 1e6],
    ["kbit/s", 1e3],
    ["bit/s", 1],
  ],
  bytes: [
    ["MB", 1e6],
    ["kB", 1e3],
    ["B", 1],
  ],
  packets: [["packets", 1]],
};

/** Other spellings accepted in scenario files, including tc's. */
const ALIASES: Record<Dimension, Record<string, number>> = {
  time: { min: 60e9, sec: 1e9, secs: 1e9, msec: 1e6, usec: 1e3, µs: 1e3 },
  rate: { bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9, "Kbit/s": 1e3, bps: 8, kbps: 8e3, mbps: 8e6 },
  bytes: { GB: 1e9, KiB: 1024, MiB: 1 << 20, GiB: 1 << 30, b: 1 },
  packets: { packet: 1, p: 1 },
};

/** The value in the base unit, or null if the text is no quantity of that dimension. */
export function parseQuantity(text: string, dimension: Dimension): number | null {
  const match = /^\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*([^\s\d]*)\s*$/i.exec(text);
  if (!match) return null;
  const [, number = "", unit = ""] = match;
  const scale =
    UNITS[dimension].find(([name]) => name === unit)?.[1] ??
    ALIASES[dimension][unit] ??
    UNITS[dimension].find(([name]) => name.toLowerCase() === unit.toLowerCase())?.[1];
  return scale === undefined ? null : Number(number) * scale;
}

/** Formats a number with `significant` digits, without trailing zeros or exponent. */
export function digits(value: number, significant = 4): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const places = Math.max(0, significant - 1 - Math.floor(Math.log10(Math.abs(value))));
  const text = value.toFixed(Math.min(places, 12));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Formats a quantity in the largest unit that does not exceed it. */
export function formatQuantity(value: number, dimension: Dimension, significant = 4): string {
  const units = UNITS[dimension];
  if (value === 0 && dimension === "time") return "0 s";
  const smallest = units[units.length - 1]!;
  const magnitude = Math.abs(value);
  const [unit, scale] = units.find(([, size]) => magnitude >= size * 0.9995) ?? smallest;
  return `${digits(value / scale, significant)} ${unit}`;
}

export const formatTime = (ns: number, significant = 4): string => formatQuantity(ns, "time", significant);
export const formatRate = (bps: number, significant = 4): string => formatQuantity(bps, "rate", significant);

/** A quantity without spaces, as in a queue manager's text: `5ms`. */
export const compact = (text: string): string => text.replace(/\s+/g, "");
