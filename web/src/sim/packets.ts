/** Packets of a finished run, indexed by time: queued, in transmission, dropped. */

import { WAITING, type Packets } from "./protocol.js";

/** Values of `FATES` in the core. */
export const SENT = 0;
export const MARKED = 1;
export const isDrop = (fate: number): boolean => fate >= 2 && fate !== WAITING;

/** First index of an ascending column with a value above `limit`. */
export function after(column: Float64Array, limit: number): number {
  let [low, high] = [0, column.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class PacketIndex {
  /** Rows in order of arrival. */
  readonly byArrival: Uint32Array;
  /** Times of arrival and departure, in that order. */
  readonly arrivedAt: Float64Array;
  readonly leftAt: Float64Array;
  /** Maximum time that a packet was in the queue. */
  private readonly longest: number;

  constructor(readonly packets: Packets) {
    const { time, sojourn, arrival } = packets;
    const count = time.length;
    let most = -1;
    for (let row = 0; row < count; row++) if (arrival[row]! > most) most = arrival[row]!;
    const rows = new Int32Array(most + 1).fill(-1);
    for (let row = 0; row < count; row++) rows[arrival[row]!] = row;
    this.byArrival = Uint32Array.from(rows.filter(row => row >= 0));
    this.arrivedAt = new Float64Array(count);
    this.leftAt = new Float64Array(count);
    let longest = 0;
    // Packets queued at the end stay beyond every time that can be looked up.
    const end = time[after(time, Number.MAX_VALUE) - 1] ?? 0;
    for (let i = 0; i < count; i++) {
      const row = this.byArrival[i]!;
      const waits = packets.fate[row] === WAITING;
      this.arrivedAt[i] = waits ? -1 - sojourn[row]! : time[row]! - sojourn[row]!;
      this.leftAt[i] = time[row]!;
      longest = Math.max(longest, waits ? end + 1e9 - this.arrivedAt[i]! : sojourn[row]!);
    }
    this.longest = longest;
  }

  get length(): number {
    return this.byArrival.length;
  }

  arrived(row: number): number {
    const { time, sojourn, fate } = this.packets;
    return fate[row] === WAITING ? -1 - sojourn[row]! : time[row]! - sojourn[row]!;
  }

  /** Rows of the packets queued at a time, oldest first. */
  waiting(at: number): number[] {
    const rows: number[] = [];
    const oldest = at - this.longest;
    for (let i = after(this.arrivedAt, at) - 1; i >= 0 && this.arrivedAt[i]! >= oldest; i--)
      if (this.leftAt[i]! > at) rows.push(this.byArrival[i]!);
    return rows.reverse();
  }

  /** Range of rows with a departure in (`from`, `to`]. */
  ended(from: number, to: number): [number, number] {
    return [after(this.packets.time, from), after(this.packets.time, to)];
  }

  /** Time of the next arrival or departure after `at`; Infinity if there is none. */
  next(at: number): number {
    const arrival = this.arrivedAt[after(this.arrivedAt, at)] ?? Infinity;
    const end = this.packets.time[after(this.packets.time, at)] ?? Infinity;
    return Math.min(arrival, end);
  }

  /** Time of the last arrival or departure before `at`; 0 if there is none. */
  previous(at: number): number {
    const before = (column: Float64Array): number => {
      let place = after(column, at) - 1;
      while (place >= 0 && column[place]! >= at) place--;
      return column[place] ?? 0;
    };
    return Math.max(before(this.arrivedAt), before(this.packets.time));
  }
}
