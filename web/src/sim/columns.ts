/** Columns that grow during a run. */

import type { EventColumns, WaitingColumns } from "../core/core.js";
import { WAITING, type Packets, type Table } from "./protocol.js";

const START = 1 << 14;

function empty(length: number): Packets {
  return {
    time: new Float64Array(length),
    sojourn: new Float64Array(length),
    flow: new Uint32Array(length),
    bytes: new Uint32Array(length),
    arrival: new Uint32Array(length),
    fate: new Uint8Array(length),
    ecn: new Uint8Array(length),
  };
}

const NAMES = ["time", "sojourn", "flow", "bytes", "arrival", "fate", "ecn"] as const;

/** The packets of one queue. */
export class PacketLog {
  private columns = empty(START);
  length = 0;

  /** Appends the events of queue `link`. */
  append(events: EventColumns, link: number): void {
    this.reserve(events.time_ns.length);
    const { time, sojourn, flow, bytes, arrival, fate, ecn } = this.columns;
    let at = this.length;
    for (let i = 0; i < events.time_ns.length; i++) {
      if (events.link[i] !== link) continue;
      time[at] = events.time_ns[i]!;
      sojourn[at] = events.sojourn_ns[i]!;
      flow[at] = events.flow[i]!;
      bytes[at] = events.bytes[i]!;
      arrival[at] = events.arrival[i]!;
      fate[at] = events.fate[i]!;
      ecn[at] = events.ecn[i]!;
      at++;
    }
    this.length = at;
  }

  /** Appends the packets queued at the end, with a departure at Infinity. */
  appendWaiting(waiting: WaitingColumns): void {
    this.reserve(waiting.time_ns.length);
    const { time, sojourn, flow, bytes, arrival, fate, ecn } = this.columns;
    for (let i = 0; i < waiting.time_ns.length; i++) {
      const at = this.length++;
      time[at] = Infinity;
      sojourn[at] = Infinity;
      flow[at] = waiting.flow[i]!;
      bytes[at] = waiting.bytes[i]!;
      arrival[at] = waiting.arrival[i]!;
      fate[at] = WAITING;
      ecn[at] = waiting.ecn[i]!;
      this.enqueued.push(waiting.time_ns[i]!);
    }
  }

  /** Arrival times of the packets queued at the end. */
  private readonly enqueued: number[] = [];

  private reserve(more: number): void {
    const needed = this.length + more;
    const size = this.columns.time.length;
    if (needed <= size) return;
    const grown = empty(Math.max(needed, size * 2));
    for (const name of NAMES) grown[name].set(this.columns[name] as never);
    this.columns = grown;
  }

  /** The columns, truncated. Packets still queued have a negative sojourn time: −1 minus their arrival time. */
  take(): Packets {
    const cut = empty(0);
    for (const name of NAMES)
      (cut as unknown as Record<string, unknown>)[name] = this.columns[name].slice(0, this.length);
    const first = this.length - this.enqueued.length;
    this.enqueued.forEach((time, i) => (cut.sojourn[first + i] = -1 - time));
    return cut;
  }
}

/** Samples of one queue manager's state variables, as the table `state` of docs/results.md. */
export class StateLog {
  private readonly times: number[] = [];
  private readonly columns = new Map<string, number[]>();

  append(now_ns: number, state: Record<string, number>): void {
    for (const [name, value] of Object.entries(state)) {
      if (!this.columns.has(name))
        this.columns.set(
          name,
          this.times.map(() => NaN),
        );
      this.columns.get(name)!.push(value);
    }
    this.times.push(now_ns);
    for (const column of this.columns.values()) if (column.length < this.times.length) column.push(NaN);
  }

  take(): Table {
    const named = [...this.columns].map(([name, values]) => [name, Float64Array.from(values)] as const);
    return {
      time_ns: Float64Array.from(this.times),
      link: new Uint16Array(this.times.length),
      ...Object.fromEntries(named),
    };
  }
}
