/** A side's finished run, with derived data for plots, panels and lessons, computed on first use. */

import { isDrop, MARKED, PacketIndex } from "./packets.js";
import { WAITING, type Outcome, type Packets, type Table } from "./protocol.js";
import { distribution, mean, quantile, type Points } from "./series.js";

export class SideRun {
  readonly index: PacketIndex;
  readonly reverse: PacketIndex;
  private readonly made = new Map<string, unknown>();

  constructor(readonly outcome: Outcome) {
    this.index = new PacketIndex(outcome.forward);
    this.reverse = new PacketIndex(outcome.reverse);
  }

  get packets(): Packets {
    return this.outcome.forward;
  }

  get warmup_ns(): number {
    return (this.outcome.summary?.warmup_s ?? 0) * 1e9;
  }

  private once<T>(key: string, make: () => T): T {
    if (!this.made.has(key)) this.made.set(key, make());
    return this.made.get(key) as T;
  }

  /** Sojourn times in ms of the packets sent, over the start of their transmission in s. */
  get sojourn(): Points {
    return this.once("sojourn", () =>
      this.where(
        fate => fate <= MARKED,
        (_, sojourn) => sojourn / 1e6,
      ),
    );
  }

  /** Times of drops, in s. */
  get drops(): Float64Array {
    return this.once("drops", () => this.where(isDrop, () => 0).x);
  }

  /** Departure times of marked packets, in s. */
  get marks(): Float64Array {
    return this.once(
      "marks",
      () =>
        this.where(
          fate => fate === MARKED,
          () => 0,
        ).x,
    );
  }

  private where(take: (fate: number) => boolean, value: (row: number, sojourn: number) => number): Points {
    const { time, sojourn, fate } = this.packets;
    const x = new Float64Array(time.length);
    const y = new Float64Array(time.length);
    let count = 0;
    for (let row = 0; row < time.length; row++) {
      if (fate[row] === WAITING || !take(fate[row]!)) continue;
      x[count] = time[row]! / 1e9;
      y[count++] = value(row, sojourn[row]!);
    }
    return { x: x.subarray(0, count), y: y.subarray(0, count) };
  }

  /** Sojourn times in ms after the warm-up, sorted. */
  get sorted(): Float64Array {
    return this.once("sorted", () => {
      const { x, y } = this.sojourn;
      const from = this.warmup_ns / 1e9;
      let first = 0;
      while (first < x.length && x[first]! < from) first++;
      return y.slice(first).sort();
    });
  }

  get distribution(): Points {
    return this.once("distribution", () => distribution(this.sorted));
  }

  get meanSojourn(): number {
    return this.once("mean", () => mean(this.sorted));
  }

  sojournQuantile(p: number): number {
    return quantile(this.sorted, p);
  }

  /** A column of the table `flows`, per flow over the time in s. */
  flowSeries(column: "goodput_bps" | "cwnd" | "srtt_ms" | "in_flight"): Map<number, Points> {
    return this.once(`flows ${column}`, () => byKey(this.outcome.tables["flows"], "flow", column));
  }

  /** A state variable of the queue manager over the time in s; null if it has none of that name. */
  state(name: string): Points | null {
    return this.once(`state ${name}`, () => {
      const table = this.outcome.tables["state"];
      if (!table?.[name]) return null;
      const points = byKey(table, "link", name).get(0);
      return points && !points.y.every(Number.isNaN) ? points : null;
    });
  }

  get stateNames(): string[] {
    return Object.keys(this.outcome.tables["state"] ?? {}).filter(name => name !== "time_ns" && name !== "link");
  }

  /** Whether there are flows that do not last for the whole run. */
  get hasTransientFlows(): boolean {
    return this.once("transient flows", () =>
      this.packets.flow.some(flow => flow >= this.outcome.checked.flows.length),
    );
  }

  /** Ids of the flows of a kind that last for the whole run. */
  flowsOf(kind: string): number[] {
    return this.outcome.checked.flows.flatMap((flow, i) => (flow.kind === kind ? [i] : []));
  }

  /** Share of the flows' packets that waited longer than `limit_ns` or were dropped; NaN without packets. */
  late(flows: number[], limit_ns: number): number {
    const wanted = new Set(flows);
    const { time, sojourn, flow, fate } = this.packets;
    let [all, late] = [0, 0];
    for (let row = 0; row < time.length; row++) {
      if (!wanted.has(flow[row]!) || fate[row] === WAITING || time[row]! < this.warmup_ns) continue;
      all++;
      if (isDrop(fate[row]!) || sojourn[row]! > limit_ns) late++;
    }
    return all ? late / all : NaN;
  }
}

/** Splits a column by a key, over `time_ns` in s. */
function byKey(table: Table | undefined, key: string, column: string): Map<number, Points> {
  const series = new Map<number, Points>();
  const time = table?.["time_ns"];
  const keys = table?.[key];
  const values = table?.[column];
  if (!time || !keys || !values) return series;
  const counts = new Map<number, number>();
  for (const value of keys) counts.set(value, (counts.get(value) ?? 0) + 1);
  for (const [value, count] of counts) series.set(value, { x: new Float64Array(count), y: new Float64Array(count) });
  const filled = new Map<number, number>();
  for (let row = 0; row < time.length; row++) {
    const value = keys[row]!;
    const at = filled.get(value) ?? 0;
    const points = series.get(value)!;
    points.x[at] = time[row]! / 1e9;
    points.y[at] = values[row]!;
    filled.set(value, at + 1);
  }
  return series;
}
