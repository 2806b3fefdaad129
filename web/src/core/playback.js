// Playback of a finished run: views are made from recorded tables, without simulation.

import { InputError } from "./errors.js";
import { FATES, REASONS } from "./words.js";

const MAGIC = "SOJOURN1";
const ARRAYS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };

/** Layout: magic, length of the head (u32, little endian), head as JSON, columns from the next multiple of 8 on. */
export function decodePayload(bytes) {
  const word = new TextDecoder().decode(bytes.subarray(0, MAGIC.length));
  if (word !== MAGIC || bytes.length < MAGIC.length + 4) throw new InputError("these bytes are no result");
  const length = new DataView(bytes.buffer, bytes.byteOffset + MAGIC.length, 4).getUint32(0, true);
  const begin = MAGIC.length + 4;
  let head;
  try {
    head = JSON.parse(new TextDecoder().decode(bytes.subarray(begin, begin + length)));
  } catch (error) {
    throw new InputError("the result's head is damaged", { cause: error });
  }
  const first = Math.ceil((begin + length) / 8) * 8;
  const column = ([kind, offset, count]) => {
    const Kind = ARRAYS[kind];
    const from = first + offset;
    const size = count * Kind.BYTES_PER_ELEMENT;
    if (from + size > bytes.length) throw new InputError("the result ends too early");
    return new Kind(bytes.slice(from, from + size).buffer);
  };
  const tables = mapped(head.tables, (table) => mapped(table, column));
  return { ...head, tables };
}

/** A `Run` over a payload. */
export class Playback {
  #payload;
  #queues;
  #flows;
  /** Per queue, index of the first departure or drop that no view has reported. */
  #reported;

  constructor(payload) {
    this.#payload = payload;
    const { checked, seed, duration_ns, tables } = payload;
    Object.assign(this, { kind: "playback", checked, seed, duration_ns, now_ns: 0, finished: false });
    this.#queues = checked.queues.map((_, link) => new Queue(link, tables));
    this.#flows = new Flows(checked.flows.length, tables.flows);
    this.#reported = this.#queues.map(() => 0);
  }

  advance(until_ns) {
    this.now_ns = Math.max(this.now_ns, Math.min(until_ns, this.duration_ns));
    this.finished = this.now_ns === this.duration_ns;
    return this.finished;
  }

  step(link) {
    const queues = link === undefined ? this.#queues : [this.#queues[link]];
    return this.advance(Math.min(...queues.map((queue) => queue.next(this.now_ns))));
  }

  view() {
    const { now_ns, finished } = this;
    const links = this.#queues.map((queue) => queue.view(now_ns));
    const parts = this.#queues.map((queue, i) => queue.events(this.#reported[i], queue.decided(now_ns)));
    this.#reported = this.#queues.map((queue) => queue.decided(now_ns));
    return { now_ns, finished, links, flows: this.#flows.view(now_ns), events: joined(parts) };
  }

  finish() {
    this.advance(this.duration_ns);
    // Copies, because the caller may transfer them while the playback continues.
    const { summary, tables } = structuredClone(this.#payload);
    return { fingerprint: summary.fingerprint, summary, tables };
  }

  checkpoint() {
    return { now_ns: this.now_ns, bytes: 0 };
  }

  restore({ now_ns }) {
    this.now_ns = now_ns;
    this.finished = now_ns === this.duration_ns;
    this.#reported = this.#queues.map((queue) => queue.decided(now_ns));
  }

  async clone() {
    const other = new Playback(this.#payload);
    other.restore(this.checkpoint());
    return other;
  }

  close() {}
}

const EVENTS = ["time_ns", "link", "flow", "bytes", "sojourn_ns", "fate", "arrival", "ecn"];
const WAITING = ["time_ns", "flow", "bytes", "arrival", "ecn"];

/** One queue: its packets in order of arrival and in order of departure. */
class Queue {
  constructor(link, { packets, waiting, state, queue }) {
    const gone = rows(packets, link);
    this.left = stable(gone, packets?.time_ns);
    this.packets = packets;
    this.times = take(packets?.time_ns, this.left);
    const byArrival = [
      ...gone.map((row) => [packets, row, packets.time_ns[row] - packets.sojourn_ns[row], packets.time_ns[row]]),
      ...rows(waiting, link).map((row) => [waiting, row, waiting.time_ns[row], Infinity]),
    ];
    this.byArrival = byArrival.sort(([a, i], [b, k]) => a.arrival[i] - b.arrival[k]);
    this.arrivals = Float64Array.from(this.byArrival, ([, , at]) => at);
    this.#count();
    this.state = state;
    this.states = rows(state, link);
    this.sampled = queue;
    this.samples = rows(queue, link);
  }

  /** Computes the counters before every `every`-th departure. */
  #count() {
    const sums = { sent: 0, marked: 0, sent_bytes: 0, sojourn_ns: 0 };
    const dropped = REASONS.map(() => 0);
    this.counted = [{ ...sums, dropped_by: [...dropped] }];
    this.every = Math.max(1, Math.ceil(this.left.length / 4096));
    this.left.forEach((row, i) => {
      this.#add(sums, dropped, row);
      if ((i + 1) % this.every === 0) this.counted.push({ ...sums, dropped_by: [...dropped] });
    });
  }

  #add(sums, dropped, row) {
    const fate = this.packets.fate[row];
    if (fate > 1) {
      const reason = REASONS.indexOf(FATES[fate]);
      if (reason >= 0) dropped[reason] += 1;
      return;
    }
    sums.sent += 1;
    sums.marked += fate;
    sums.sent_bytes += this.packets.bytes[row];
    sums.sojourn_ns += this.packets.sojourn_ns[row];
  }

  decided(now) {
    return above(this.times, now);
  }

  next(now) {
    const arrival = this.arrivals[above(this.arrivals, now)] ?? Infinity;
    return Math.min(arrival, this.times[this.decided(now)] ?? Infinity);
  }

  view(now) {
    const decided = this.decided(now);
    const arrived = above(this.arrivals, now);
    const { dropped_by, ...sums } = this.counted[Math.floor(decided / this.every)];
    const [counts, dropped] = [{ ...sums }, [...dropped_by]];
    for (let i = decided - (decided % this.every); i < decided; i++) this.#add(counts, dropped, this.left[i]);
    const waiting = this.#waiting(now, arrived, arrived - decided);
    const sample = last(this.samples, this.sampled?.time_ns, now);
    const known = this.arrivals.length > 0 || sample === undefined;
    return {
      backlog_packets: known ? arrived - decided : this.sampled.packets[sample],
      backlog_bytes: known ? waiting.bytes.reduce((sum, bytes) => sum + bytes, 0) : this.sampled.bytes[sample],
      arrived, ...counts, dropped_by: dropped, lost: 0, state: this.#state(now), parts: [], waiting,
    };
  }

  events(from, to) {
    const rows = this.left.slice(from, to);
    return Object.fromEntries(EVENTS.map((name) => [name, take(this.packets?.[name], rows)]));
  }

  /** Queued packets, searched backwards from the last arrival. */
  #waiting(now, arrived, backlog) {
    const found = [];
    for (let i = arrived - 1; i >= 0 && found.length < backlog; i--) {
      if (this.byArrival[i][3] > now) found.push(this.byArrival[i]);
    }
    found.reverse();
    const column = (name, Kind) => Kind.from(found, ([table, row]) => table[name][row]);
    const [, flow, bytes, arrival, ecn] = WAITING;
    return {
      time_ns: Float64Array.from(found, ([, , at]) => at), flow: column(flow, Uint32Array),
      bytes: column(bytes, Uint32Array), arrival: column(arrival, Uint32Array), ecn: column(ecn, Uint8Array),
    };
  }

  #state(now) {
    const row = last(this.states, this.state?.time_ns, now);
    if (row === undefined) return {};
    const named = Object.entries(this.state).filter(([name]) => name !== "time_ns" && name !== "link");
    return Object.fromEntries(named.map(([name, column]) => [name, column[row]]).filter(([, value]) => !Number.isNaN(value)));
  }
}

/** Flows: the last samples before a time. */
class Flows {
  constructor(count, table) {
    this.table = table;
    this.rows = Array.from({ length: count }, () => []);
    const steps = table === undefined ? [] : table.time_ns;
    steps.forEach((_, row) => this.rows[table.flow[row]]?.push(row));
    this.sums = this.rows.map((rows) => ({ goodput_bps: this.#sums(rows, "goodput_bps"), delivered_bps: this.#sums(rows, "delivered_bps") }));
  }

  /** Cumulative bytes at each sample, from the rate over the step before it. */
  #sums(rows, name) {
    let [sum, before] = [0, 0];
    return rows.map((row) => {
      const now = this.table.time_ns[row];
      sum += (this.table[name][row] * (now - before)) / 8e9;
      before = now;
      return sum;
    });
  }

  view(now) {
    const at = this.rows.map((rows) => above(rows.map((row) => this.table.time_ns[row]), now) - 1);
    const of = (name) => Float64Array.from(at, (i, flow) => (i < 0 ? NaN : this.table[name][this.rows[flow][i]]));
    const bytes = (name) => Float64Array.from(at, (i, flow) => (i < 0 ? 0 : this.sums[flow][name][i]));
    const unknown = () => new Float64Array(at.length).fill(NaN);
    return {
      arrived_bytes: bytes("goodput_bps"), delivered_bytes: bytes("delivered_bps"), sent: unknown(),
      retransmissions: unknown(), timeouts: unknown(), cwnd: of("cwnd"), srtt_ms: of("srtt_ms"), in_flight: of("in_flight"),
    };
  }
}

function rows(table, link) {
  const found = [];
  table?.link.forEach((other, row) => other === link && found.push(row));
  return found;
}

/** Rows sorted by time; stable. */
function stable(rows, times) {
  return [...rows].sort((a, b) => times[a] - times[b] || a - b);
}

function take(column, rows) {
  if (column === undefined) return new Float64Array(0);
  const taken = new column.constructor(rows.length);
  rows.forEach((row, i) => {
    taken[i] = column[row];
  });
  return taken;
}

/** Number of the sorted `times` that are at most `now`. */
function above(times, now) {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= now) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Last of the rows with a time of at most `now`. */
function last(rows, times, now) {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[rows[middle]] <= now) low = middle + 1;
    else high = middle;
  }
  return rows[low - 1];
}

/** Concatenates the columns of several queues. */
function joined(parts) {
  return Object.fromEntries(
    EVENTS.map((name) => {
      const columns = parts.map((part) => part[name]);
      const all = new (columns.find((column) => column.length > 0) ?? KINDS[name]).constructor(sum(columns));
      let at = 0;
      for (const column of columns) {
        all.set(column, at);
        at += column.length;
      }
      return [name, all];
    }),
  );
}

const KINDS = {
  time_ns: new Float64Array(0), link: new Uint16Array(0), flow: new Uint32Array(0), bytes: new Uint32Array(0),
  sojourn_ns: new Float64Array(0), fate: new Uint8Array(0), arrival: new Uint32Array(0), ecn: new Uint8Array(0),
};

function sum(columns) {
  return columns.reduce((total, column) => total + column.length, 0);
}

function mapped(object, change) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}
