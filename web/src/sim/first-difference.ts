/** The first packet that two queues treat differently: the earliest in time, so both queues are equal up to then. */

import { WAITING } from "./protocol.js";
import type { PacketIndex } from "./packets.js";

export interface FirstDifference {
  /** Arrival index, from 0. */
  arrival: number;
  /** Time of arrival, and time of the earlier verdict, in ns. */
  arrived_ns: number;
  at_ns: number;
  /** Rows of the packet; null if it had not arrived, or is still queued. */
  a: number | null;
  b: number | null;
}

/** Null if all packets seen by both queues agree in verdict and time. */
export function firstDifference(a: PacketIndex, b: PacketIndex): FirstDifference | null {
  let first: FirstDifference | null = null;
  const both = Math.min(a.length, b.length);
  for (let i = 0; i < both; i++) {
    // A packet that arrives after the first difference may itself be a consequence of it.
    if (first && Math.min(a.arrivedAt[i]!, b.arrivedAt[i]!) > first.at_ns) break;
    const [rowA, rowB] = [a.byArrival[i]!, b.byArrival[i]!];
    const sameArrival = a.arrivedAt[i] === b.arrivedAt[i] && a.packets.flow[rowA] === b.packets.flow[rowB];
    if (!sameArrival) break;
    const sameFate = a.packets.fate[rowA] === b.packets.fate[rowB] && a.leftAt[i] === b.leftAt[i];
    if (sameFate) continue;
    const at_ns = Math.min(a.leftAt[i]!, b.leftAt[i]!);
    if (!first || at_ns < first.at_ns) {
      const seen = (index: PacketIndex, row: number): number | null =>
        index.packets.fate[row] === WAITING ? null : row;
      first = { arrival: i, arrived_ns: a.arrivedAt[i]!, at_ns, a: seen(a, rowA), b: seen(b, rowB) };
    }
  }
  return first;
}
