/**
 * The simulator as the page sees it: `core.js` beside this file, over the WebAssembly module of `crates/web`.
 *
 * Everything is synchronous but what makes an instance (`load`, `open`, `record`, `replay`, `difference`, `clone`).
 * A run lives in an instance of its own, with its own memory, so two runs do not know of each other and a checkpoint is
 * a copy of that memory. Works in a page, in a worker and in Node; asks for nothing over the network.
 *
 * Units: instants and spans are integers in nanoseconds as plain numbers (exact up to 104 days), `…_ns`; sizes are bytes
 * as the queue accounts them; rates are bit/s; AQM state is in the units of `observe`: seconds, bytes, packets or shares,
 * see `Parameter` and docs/aqm. Names are those of the scenario file and of docs/results.md.
 */

/** Compiles the module once. `source`: bytes, a compiled module, or a response of `fetch`. */
export function load(
  source: BufferSource | WebAssembly.Module | Response | Promise<Response>,
): Promise<Core>;

/** What the user wrote is wrong. `message` names the place and the remedy, for people: show it as it is. */
export class InputError extends Error {}

export interface Core {
  /** Version of Sojourn. */
  readonly version: string;
  /** Everything that has a name in scenario files. */
  readonly registry: Registry;
  /** JSON Schema (draft 2020-12) of scenario files. */
  readonly schema: unknown;
  /** Checks a scenario without running it. Throws `InputError`. */
  check(text: string, options?: Pick<OpenOptions, "files" | "sets">): Checked;
  /**
   * The text with `edits` made, in their order; comments and layout of the rest stay. The result was checked. Throws
   * `InputError`.
   */
  edit(text: string, edits: Edit[], options?: Pick<OpenOptions, "files">): string;
  /** A run before its first event. Throws `InputError`. */
  open(text: string, options?: OpenOptions): Promise<Run>;
  /**
   * Runs the scenario to its end and keeps what arrived at the first queue, for `replay`. Throws `InputError` where the
   * link has no constant rate, as `sojourn aqm diff` does.
   */
  record(text: string, options?: OpenOptions): Promise<Arrivals>;
  /**
   * Recorded arrivals played into a queue manager above the same link ("same arrivals"): nobody reacts. `aqm` as in a
   * scenario (`"codel target 5ms"`, or a table as JSON); `limit` such as `"1000 packets"`, else the recorded one's.
   */
  replay(arrivals: Arrivals, aqm: string, limit?: string): Promise<Run>;
  /** The first packet that two queue managers treat differently on the same arrivals; null if there is none. */
  differenceOnArrivals(arrivals: Arrivals, a: string, b: string): Promise<Difference | null>;
  /**
   * The same of two scenarios with the same traffic, each with its own closed loop ("same traffic"), at the first
   * queue; up to there all arrivals are equal. Null if there is none until the shorter run ends.
   */
  differenceOfTraffic(a: string, b: string, options?: OpenOptions): Promise<Difference | null>;
  /** A result from disk, or of a native run, played back through the same interface. See `Payload`. */
  playback(payload: Payload): Promise<Run>;
}

export interface OpenOptions {
  /** Seed; the scenario's own without it. Below 2^53. */
  seed?: number;
  /** Bytes of the files that the scenario names (traces, captures), by the name written there. */
  files?: Record<string, Uint8Array>;
  /** Overrides by dotted path, as `--set`: `["link.rate", "20 Mbit/s"]`, `["flows.0.count", "8"]`; "" removes a key. */
  sets?: [string, string][];
  /**
   * Whether to follow each packet (`View.events`, `LinkView.waiting`); true unless given. Without it a run is faster and
   * the fingerprint is the same.
   */
  packets?: boolean;
}

export interface Checked {
  /** The scenario with every default written out, as `sojourn run` stores it. */
  scenario: Scenario;
  /** Name of every queue by its number, the `link` of tables: `"forward"`, `"reverse"`, … */
  queues: string[];
  /** Of each flow that lasts for the whole run: which entry of `[[flows]]` it belongs to. */
  flows: { group: number; kind: string; cc: string | null; direction: "forward" | "reverse" }[];
  /** Bytes of memory that a run takes at most, without the packets followed. */
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
  /** The same from an instant on: an entry of `[[changes]]`. Keys: link.rate, .delay, .loss, .aqm, .limit; reverse.…. */
  | { at_ns: number; set: string; value: Json }
  /**
   * Flows of entry `group` from an instant on. More: another entry of `[[flows]]` that starts then; fewer: the last ones
   * stop then, which splits the entry. Only groups that start at 0 s and do not stop.
   */
  | { at_ns: number; group: number; count: number };

export type Json = string | number | boolean | Json[] | { [key: string]: Json };

/** A run, a replay or a playback, at an instant. */
export interface Run {
  readonly kind: "simulation" | "replay" | "playback";
  readonly checked: Checked;
  readonly seed: number;
  readonly duration_ns: number;
  /** The instant up to which everything has happened. */
  readonly now_ns: number;
  readonly finished: boolean;

  /** Goes on up to an instant, what is due then included. Whether the run is finished. Steps do not change a run. */
  advance(until_ns: number): boolean;
  /** Goes on to the next instant at which a packet arrives at, leaves or is dropped by a queue. Whether it is finished. */
  step(link?: number): boolean;
  /** What there is to see now. Events are those since the last view, or since `open`. */
  view(): View;
  /** To the end. The run is over then; `view` shows its last instant. */
  finish(): Outcome;

  /** A copy of the run's memory, to come back to; some MB. A playback's is a number in disguise. */
  checkpoint(): Checkpoint;
  /** Goes back (or forth) to a checkpoint of this run or of its clones. Events between are not told again. */
  restore(checkpoint: Checkpoint): void;
  /** Another run that stands where this one does, and goes its own way. */
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
  /** Every queue by its number: 0 the bottleneck, 1 its reverse direction, then further links, as in docs/results.md. */
  links: LinkView[];
  /** Flows that last for the whole run, by their number; empty columns in a replay. */
  flows: FlowColumns;
  /** What happened at the queues since the last view, in order of time within each link. Empty without `packets`. */
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
  /** Packets lost on the medium behind the queue. */
  lost: number;
  /**
   * The queue manager's state by the names of its source: CoDel `count`, `lastcount`, `dropping`, `drop_next` and
   * `first_above_time` (instants in s; 0: none); PIE `p`, `qdelay`, `qdelay_old` (s), `accu_prob`, `burst_allowance`
   * (s), `avg_dq_rate`; RED `avg`, `prob`, `max_p`; DualPI2 `p`, `p_c`, `p_cl`, `credit`; FQ `new_flows`,
   * `old_flows`, and the state of the flow served last.
   */
  state: Record<string, number>;
  /** The queues inside: an FQ discipline's flows, DualPI2's two. Empty for one queue. */
  parts: Part[];
  /** The packets that wait, in the order of their arrival. Empty without `packets`. */
  waiting: WaitingColumns;
}

/** A queue inside a queue discipline. */
export interface Part {
  /** `"flow"`, `"L4S"`, `"Classic"`, … */
  kind: string;
  /** Its number in the discipline: bucket of a flow queue. */
  number: number;
  /** On which list of the scheduler: `"new"`, `"old"`, `""`: none. */
  list: string;
  packets: number;
  bytes: number;
  /** DRR deficit in bytes; null where there is none. */
  deficit: number | null;
  /** Number of the flow that its first packet belongs to; null if none waits. */
  flow: number | null;
  /** Its manager's state, as in `LinkView.state`. */
  state: Record<string, number>;
}

/** Columns of equal length: a row is a packet. */
export interface WaitingColumns {
  /** Enqueued at. */
  time_ns: Float64Array;
  flow: Uint32Array;
  bytes: Uint32Array;
  /** Place in the order of arrivals at this queue, from 0. */
  arrival: Uint32Array;
  /** ECN field on arrival: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE. */
  ecn: Uint8Array;
}

/** A row is the end of a packet's stay in a queue. */
export interface EventColumns {
  /** Start of transmission, or instant of the drop. */
  time_ns: Float64Array;
  link: Uint8Array;
  flow: Uint32Array;
  bytes: Uint32Array;
  /** Sojourn time: from acceptance to `time_ns`. */
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

/** Words for `EventColumns.fate`, by its value; "" is not used. */
export const FATES: readonly ["sent", "marked", "limit", "early", "late", "hard-limit", "unknown", "replaced"];
/** Words for `LinkView.dropped_by`, by place. */
export const REASONS: readonly string[];
/** Words for ECN fields, by value. */
export const ECN: readonly ["Not-ECT", "ECT(1)", "ECT(0)", "CE"];

export interface Outcome {
  /** 16 hexadecimal digits: those of `sojourn run`. Null of a replay. */
  fingerprint: string | null;
  /** As in `manifest.json` (docs/results.md). Null of a replay. */
  summary: Json | null;
  /** Tables by name, as in docs/results.md: `sojourn_histogram` always; of probes what no view has told yet. */
  tables: Record<string, Record<string, Float64Array | Uint32Array | Uint8Array>>;
}

/** What arrived at the first queue of a run. */
export interface Arrivals {
  /** The run it is of. */
  readonly checked: Checked;
  readonly seed: number;
  readonly packets: number;
  readonly duration_ns: number;
}

export interface Difference {
  /** Place of the packet in the order of arrivals, from 0. */
  arrival: number;
  /** When it arrived. */
  arrived_ns: number;
  /** When the first of the two decided. */
  at_ns: number;
  flow: number;
  bytes: number;
  ecn: number;
  a: Treatment;
  b: Treatment;
}

/** What a queue did with a packet, as far as it is known at the end of the runs. */
export interface Treatment {
  /** `"pass"`, `"mark"`, `"drop_on_arrival"`, `"drop"`, `"waiting"`: not decided by the end. */
  verdict: "pass" | "mark" | "drop_on_arrival" | "drop" | "waiting";
  /** Of drops, as in `REASONS`. */
  reason: string | null;
  /** When it was sent or dropped. */
  at_ns: number | null;
  /** The queue just before the difference showed. */
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
  /** Whether it queues flows apart. */
  by_flow: boolean;
  /** Whether it holds other disciplines (tbf, prio, htb). */
  holds: boolean;
  params: Parameter[];
  /** Named variants; the first is the plain name's. */
  profiles: { name: string; summary: string; spelling: string; values: Record<string, string> }[];
}

export interface Parameter {
  /** As in its source. */
  name: string;
  doc: string;
  kind: "time" | "bytes" | "rate" | "count" | "number" | "flag" | "choice" | "bands" | "class";
  /** Texts with their units, as a scenario has them: `"5 ms"`. Null where there is none. */
  default: string | null;
  min: string | null;
  max: string | null;
  /** The same as numbers, for sliders: ns, bytes, bit/s or plain. Null of flags, choices, bands and classes. */
  default_value: number | null;
  min_value: number | null;
  max_value: number | null;
  /** Unit of the three: `"ns"`, `"B"`, `"bit/s"` or `""`. */
  unit: string;
  /** Words of a choice. */
  choices: string[];
}

export interface Control {
  name: string;
  alias: string | null;
  summary: string;
  source: string;
  constants: { name: string; value: string | number; unit: string; meaning: string }[];
  /** TCP stacks that have what it needs. */
  stacks: string[];
}

/**
 * A finished run, from disk or run natively by the server of `sojourn lab`: the scenario as its text or canonical JSON,
 * the summary, and the tables that were recorded. A view is made of `packets`, `waiting`, `state`, `queue` and `flows`,
 * as far as they are there; state and flows are the last samples before the instant.
 */
export interface Payload {
  checked: Checked;
  seed: number;
  duration_ns: number;
  summary: Json;
  tables: Record<string, Record<string, Float64Array | Uint32Array | Uint8Array>>;
}

/**
 * What the page is started with, by `sojourn lab` (`start.json`, beside the page), a report or a notebook. With neither
 * text nor result the page begins with its own first scenario.
 */
export interface Start {
  /** Title, from a scenario or a result: untrusted text. */
  name?: string;
  /** Scenario text. */
  text?: string;
  /** Files that it names: base64. */
  files?: Record<string, string>;
  seed?: number;
  /** A result: see `decodePayload`. Base64 of its bytes, or an address relative to the page. */
  payload?: { base64: string } | { url: string };
  /** Where the server runs scenarios natively: POST `NativeRequest` as JSON, answer: bytes of a payload. Relative. */
  native?: string;
  /** Why there is nothing to show but this: a message for people. */
  error?: string;
}

export interface NativeRequest {
  text: string;
  seed?: number;
  /** Base64. */
  files?: Record<string, string>;
}

/** Reads a payload from its bytes. Throws `InputError`. */
export function decodePayload(bytes: Uint8Array): Payload;

/** Bytes of base64. */
export function fromBase64(text: string): Uint8Array;
