/**
 * Interface of the simulator: `core.js` beside this file, over the WebAssembly module of `crates/web`.
 *
 * All calls are synchronous except those that create an instance (`load`, `open`, `record`, `replay`, `difference…`,
 * `clone`). Each run has its own instance and memory, so runs are independent and a checkpoint is a copy of that memory.
 * Works in a page, in a worker and in Node, without network access.
 *
 * Units: times and durations are integers in nanoseconds as plain numbers (exact up to 104 days), `…_ns`; sizes are bytes
 * as the queue accounts them; rates are bit/s; AQM state is in the units of `observe`: seconds, bytes, packets or shares,
 * see `Parameter` and docs/aqm. Names are those of the scenario file and of docs/results.md.
 */

/** Compiles the module once. `source`: bytes, a compiled module, or a response of `fetch`. */
export function load(
  source: BufferSource | WebAssembly.Module | Response | Promise<Response>,
): Promise<Core>;

/** Invalid input by the user. `message` names the place and the remedy: show it unchanged. */
export class InputError extends Error {}

export interface Core {
  /** Version of Sojourn. */
  readonly version: string;
  /** All algorithms and controls that can be named in scenario files. */
  readonly registry: Registry;
  /** JSON Schema (draft 2020-12) of scenario files. */
  readonly schema: unknown;
  /** Checks a scenario without running it. Throws `InputError`. */
  check(text: string, options?: Pick<OpenOptions, "files" | "sets">): Checked;
  /**
   * Applies `edits` to the text, in order; comments and layout of the rest are kept. The result is checked. Throws
   * `InputError`.
   */
  edit(text: string, edits: Edit[], options?: Pick<OpenOptions, "files">): string;
  /** A run before its first event. Throws `InputError`. */
  open(text: string, options?: OpenOptions): Promise<Run>;
  /**
   * Runs the scenario to its end and records the arrivals at the first queue, for `replay`. Throws `InputError` if the
   * link has no constant rate, as `sojourn aqm diff` does.
   */
  record(text: string, options?: OpenOptions): Promise<Arrivals>;
  /**
   * Replays recorded arrivals into a queue manager over the same link ("same arrivals"): senders do not react. `aqm` as
   * in a scenario (`"codel target 5ms"`, or a table as JSON); `limit` such as `"1000 packets"`, by default the recorded
   * run's.
   */
  replay(arrivals: Arrivals, aqm: string, limit?: string): Promise<Run>;
  /** First packet that two queue managers treat differently for the same arrivals; null if there is none. */
  differenceOnArrivals(arrivals: Arrivals, a: string, b: string): Promise<Difference | null>;
  /**
   * First packet that the first queues of two scenarios with the same traffic treat differently, each in its own closed
   * loop ("same traffic"); up to it all arrivals are equal. Null if there is none until the shorter run ends.
   */
  differenceOfTraffic(a: string, b: string, options?: OpenOptions): Promise<Difference | null>;
  /** Plays back a result from disk or of a native run through the same interface. See `Payload`. */
  playback(payload: Payload): Promise<Run>;
}

export interface OpenOptions {
  /** Seed, below 2^53; by default the scenario's own. */
  seed?: number;
  /** Contents of the files named in the scenario (traces, captures), by that name. */
  files?: Record<string, Uint8Array>;
  /** Overrides by dotted path, as `--set`: `["link.rate", "20 Mbit/s"]`, `["flows.0.count", "8"]`; "" removes a key. */
  sets?: [string, string][];
  /**
   * Whether to record each packet (`View.events`, `LinkView.waiting`); default true. Without it a run is faster and has
   * the same fingerprint.
   */
  packets?: boolean;
}

export interface Checked {
  /** The scenario with all defaults, as stored by `sojourn run`. */
  scenario: Scenario;
  /** Names of the queues, indexed by the `link` of tables: `"forward"`, `"reverse"`, … */
  queues: string[];
  /** The flows that last for the whole run, each with the index of its entry of `[[flows]]`. */
  flows: { group: number; kind: string; cc: string | null; direction: "forward" | "reverse" }[];
  /** Maximum memory of a run in bytes, without recorded packets. */
  need_bytes: number;
}

/** Canonical scenario: the keys of docs/scenario.md. */
export interface Scenario {
  name: string;
  duration: string;
  seed: number;
  [key: string]: unknown;
}

/** One change to a scenario's text. */
export type Edit =
  /** A key, by dotted path (`"link.aqm"`, `"flows.0.rtt"`); null removes it. */
  | { set: string; value: Json | null }
  /** The same from `at_ns` on: an entry of `[[changes]]`. Keys: link.rate, .delay, .loss, .aqm, .limit; reverse.…. */
  | { at_ns: number; set: string; value: Json }
  /**
   * Number of flows of entry `group` from `at_ns` on. An increase adds an entry of `[[flows]]` that starts then; a
   * decrease splits the entry, and the last flows stop then. Only for groups that start at 0 s and do not stop.
   */
  | { at_ns: number; group: number; count: number };

export type Json = string | number | boolean | Json[] | { [key: string]: Json };

/** A simulation, a replay or a playback, at time `now_ns`. */
export interface Run {
  readonly kind: "simulation" | "replay" | "playback";
  readonly checked: Checked;
  readonly seed: number;
  readonly duration_ns: number;
  /** Time up to which all events have been processed. */
  readonly now_ns: number;
  readonly finished: boolean;

  /** Advances to `until_ns`, inclusive; returns whether the run is finished. The step size does not affect the run. */
  advance(until_ns: number): boolean;
  /** Advances to the next arrival, departure or drop at a queue; returns whether the run is finished. */
  step(link?: number): boolean;
  /** The current state, with the events since the last view, or since `open`. */
  view(): View;
  /** Runs to the end. The run is over then; `view` returns its last state. */
  finish(): Outcome;

  /** Copies the run's memory (some MB), for `restore`; for a playback only the time is stored. */
  checkpoint(): Checkpoint;
  /** Restores a checkpoint of this run or of its clones. Events up to it are not reported again. */
  restore(checkpoint: Checkpoint): void;
  /** An independent copy of the run in its current state. */
  clone(): Promise<Run>;
  /** Frees the memory. */
  close(): void;
}

export interface Checkpoint {
  readonly now_ns: number;
  readonly bytes: number;
}

export interface View {
  now_ns: number;
  finished: boolean;
  /** All queues: 0 the bottleneck, 1 its reverse direction, then further links, as in docs/results.md. */
  links: LinkView[];
  /** Flows that last for the whole run, by id; empty columns in a replay. */
  flows: FlowColumns;
  /** Events at the queues since the last view, in order of time within each link. Empty without `packets`. */
  events: EventColumns;
}

/** A queue. Counts are since the start of the run. */
export interface LinkView {
  backlog_packets: number;
  backlog_bytes: number;
  arrived: number;
  /** Drops by reason, in the order of `REASONS`. */
  dropped_by: number[];
  marked: number;
  sent: number;
  sent_bytes: number;
  /** Sum of the sojourn times of packets sent, in ns. */
  sojourn_ns: number;
  /** Packets lost on the medium after the queue. */
  lost: number;
  /**
   * The queue manager's state, with the names of its source: CoDel `count`, `lastcount`, `dropping`, `drop_next` and
   * `first_above_time` (instants in s; 0: none); PIE `p`, `qdelay`, `qdelay_old` (s), `accu_prob`, `burst_allowance`
   * (s), `avg_dq_rate`; RED `avg`, `prob`, `max_p`; DualPI2 `p`, `p_c`, `p_cl`, `credit`; FQ `new_flows`,
   * `old_flows`, and the state of the flow served last.
   */
  state: Record<string, number>;
  /** Inner queues: the flows of an FQ discipline, the two of DualPI2. Empty for a single queue. */
  parts: Part[];
  /** Queued packets, in order of arrival. Empty without `packets`. */
  waiting: WaitingColumns;
}

/** A queue inside a queue discipline. */
export interface Part {
  /** `"flow"`, `"L4S"`, `"Classic"`, … */
  kind: string;
  /** Index in the discipline: the bucket of a flow queue. */
  number: number;
  /** List of the scheduler: `"new"`, `"old"` or `""` for none. */
  list: string;
  packets: number;
  bytes: number;
  /** DRR deficit in bytes; null if there is none. */
  deficit: number | null;
  /** Flow of its first packet; null if it is empty. */
  flow: number | null;
  /** State of its queue manager, as in `LinkView.state`. */
  state: Record<string, number>;
}

/** Columns of equal length: a row is a packet. */
export interface WaitingColumns {
  /** Time of enqueue. */
  time_ns: Float64Array;
  flow: Uint32Array;
  bytes: Uint32Array;
  /** Arrival index at this queue, from 0. */
  arrival: Uint32Array;
  /** ECN field on arrival: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE. */
  ecn: Uint8Array;
}

/** A row is a packet that has left a queue. */
export interface EventColumns {
  /** Start of transmission, or time of the drop. */
  time_ns: Float64Array;
  link: Uint16Array;
  flow: Uint32Array;
  bytes: Uint32Array;
  /** Sojourn time: from enqueue to `time_ns`. */
  sojourn_ns: Float64Array;
  /** See `FATES`. */
  fate: Uint8Array;
  arrival: Uint32Array;
  /** ECN field on arrival. */
  ecn: Uint8Array;
}

/** A row is a flow. Counts are since the start of the run. */
export interface FlowColumns {
  arrived_bytes: Float64Array;
  /** Payload delivered in order. */
  delivered_bytes: Float64Array;
  sent: Float64Array;
  retransmissions: Float64Array;
  timeouts: Float64Array;
  /** Congestion window in segments; NaN without one. */
  cwnd: Float64Array;
  /** NaN without one. */
  srtt_ms: Float64Array;
  /** Segments in the network. */
  in_flight: Float64Array;
}

/** Names of the values of `EventColumns.fate`. */
export const FATES: readonly ["sent", "marked", "limit", "early", "late", "hard-limit", "unknown", "replaced"];
/** Names of the entries of `LinkView.dropped_by`. */
export const REASONS: readonly string[];
/** Names of ECN fields, by value. */
export const ECN: readonly ["Not-ECT", "ECT(1)", "ECT(0)", "CE"];

export interface Outcome {
  /** 16 hexadecimal digits, as printed by `sojourn run`. Null for a replay. */
  fingerprint: string | null;
  /** As in `manifest.json` (docs/results.md). Null for a replay. */
  summary: Json | null;
  /** Tables by name, as in docs/results.md: `sojourn_histogram` always; of probes the rows not yet in a view. */
  tables: Record<string, Record<string, Float64Array | Uint32Array | Uint16Array | Uint8Array>>;
}

/** Arrivals at the first queue of a run. */
export interface Arrivals {
  /** The scenario of the run. */
  readonly checked: Checked;
  readonly seed: number;
  readonly packets: number;
  readonly duration_ns: number;
}

export interface Difference {
  /** Arrival index of the packet, from 0. */
  arrival: number;
  /** Time of arrival. */
  arrived_ns: number;
  /** Time of the earlier of the two verdicts. */
  at_ns: number;
  flow: number;
  bytes: number;
  ecn: number;
  a: Treatment;
  b: Treatment;
}

/** Treatment of a packet by a queue, as far as known at the end of the runs. */
export interface Treatment {
  /** `"waiting"`: no verdict by the end. */
  verdict: "pass" | "mark" | "drop_on_arrival" | "drop" | "waiting";
  /** Reason of a drop, as in `REASONS`; else null. */
  reason: string | null;
  /** Time at which it was sent or dropped. */
  at_ns: number | null;
  /** Backlog just before the difference. */
  backlog_packets: number;
  backlog_bytes: number;
  state: Record<string, number>;
}

export interface Registry {
  aqms: Algorithm[];
  ccs: Control[];
  stacks: { name: string; summary: string }[];
  traffic: { name: string; summary: string }[];
}

/** A queue manager or a queue discipline. */
export interface Algorithm {
  name: string;
  /** One sentence. */
  summary: string;
  /** RFC, paper or kernel version. */
  source: string;
  /** Whether it has a queue per flow. */
  by_flow: boolean;
  /** Whether it is classful, i.e. has child disciplines (tbf, prio, htb). */
  holds: boolean;
  params: Parameter[];
  /** Named variants; the first is the default. */
  profiles: { name: string; summary: string; spelling: string; values: Record<string, string> }[];
}

export interface Parameter {
  /** Name in its source. */
  name: string;
  doc: string;
  kind: "time" | "bytes" | "rate" | "count" | "number" | "flag" | "choice" | "bands" | "class";
  /** Texts with units, as in a scenario: `"5 ms"`. Null if there is none. */
  default: string | null;
  min: string | null;
  max: string | null;
  /** The same as numbers, for sliders: ns, bytes, bit/s or plain. Null for flags, choices, bands and classes. */
  default_value: number | null;
  min_value: number | null;
  max_value: number | null;
  /** Unit of these numbers: `"ns"`, `"B"`, `"bit/s"` or `""`. */
  unit: string;
  /** Allowed values of a choice. */
  choices: string[];
}

export interface Control {
  name: string;
  alias: string | null;
  summary: string;
  source: string;
  constants: { name: string; value: string | number; unit: string; meaning: string }[];
  /** TCP stacks that support it. */
  stacks: string[];
}

/**
 * A finished run, from disk or run natively by the server of `sojourn lab`: the scenario as text or canonical JSON, the
 * summary and the recorded tables. Views are made from `packets`, `waiting`, `state`, `queue` and `flows`, as far as
 * present; state and flows are the last samples before the current time.
 */
export interface Payload {
  checked: Checked;
  seed: number;
  duration_ns: number;
  summary: Json;
  tables: Record<string, Record<string, Float64Array | Uint32Array | Uint16Array | Uint8Array>>;
}

/**
 * Start-up data of the page, from `sojourn lab` (`start.json`, beside the page), a report or a notebook. With neither
 * text nor result the page starts with its default scenario.
 */
export interface Start {
  /** Title, from a scenario or a result: untrusted text. */
  name?: string;
  /** Scenario text. */
  text?: string;
  /** Files named in the scenario, in base64. */
  files?: Record<string, string>;
  seed?: number;
  /** A result (see `decodePayload`): its bytes in base64, or a URL relative to the page. */
  payload?: { base64: string } | { url: string };
  /** Relative URL for native runs: POST of a `NativeRequest` as JSON; the response is the bytes of a payload. */
  native?: string;
  /** Error message, shown instead of the lab. */
  error?: string;
}

export interface NativeRequest {
  text: string;
  seed?: number;
  /** Contents in base64, by name. */
  files?: Record<string, string>;
}

/** Parses a payload. Throws `InputError`. */
export function decodePayload(bytes: Uint8Array): Payload;

/** Decodes base64. */
export function fromBase64(text: string): Uint8Array;
