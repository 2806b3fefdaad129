/** What the page and the workers that simulate say to each other. */

import type { Checked, Edit, Json, LinkView, Payload, Registry } from "../core/core.js";

/** What is to be simulated: one side of the page. */
export interface Job {
  /** TOML. */
  text: string;
  /** Changes while the run goes on, in order of time. */
  changes: ({ at_ns: number; set: string; value: Json } | { at_ns: number; group: number; count: number })[];
  /** Overrides by dotted path: the probes that the plots are drawn from. */
  sets: [string, string][];
  /** Files that the scenario names. */
  files: Record<string, Uint8Array>;
  /** The queue manager and limit that recorded arrivals are played into; null: the scenario itself runs. */
  replay: { aqm: string; limit: string | null } | null;
  /** A finished run that is shown instead: a result from disk, or one that was run natively. */
  payload: Payload | null;
  /** Where a server runs it natively, because there are too many packets for a browser; null: here. */
  native: string | null;
}

/** A packet's stay in a queue. Columns of equal length, in the order of the ends of the stays. */
export interface Packets {
  /** Start of transmission, or instant of the drop, in ns. */
  time: Float64Array;
  /** Sojourn time in ns. */
  sojourn: Float64Array;
  flow: Uint32Array;
  bytes: Uint32Array;
  /** Place in the order of arrivals at the queue. */
  arrival: Uint32Array;
  /** Place in `FATES` of the core; `WAITING` for what is still in the queue at the end. */
  fate: Uint8Array;
  /** ECN field on arrival. */
  ecn: Uint8Array;
}

/** The fate of what waits when the run ends. Not a value of the core's. */
export const WAITING = 255;

export type Table = Record<string, Float64Array | Uint32Array | Uint8Array>;

/** A finished run. */
export interface Outcome {
  /** The scenario as it ran, TOML with its changes. */
  text: string;
  checked: Checked;
  duration_ns: number;
  /** Null of a replay, as is the summary. */
  fingerprint: string | null;
  summary: Summary | null;
  forward: Packets;
  reverse: Packets;
  /** Packets are kept up to here. */
  kept_ns: number;
  tables: Record<string, Table>;
  /** CPU time of the simulation in ms, as far as the worker's clock tells. */
  took_ms: number;
}

export interface Quantiles {
  mean: number | null;
  p50: number | null;
  p95: number | null;
  p99: number | null;
  max: number | null;
}

export interface LinkSummary {
  utilisation: number;
  packets: number;
  arrived: number;
  dropped: number;
  dropped_by: Record<string, number>;
  marked: number;
  drop_rate: number;
  mark_rate: number;
  mean_backlog_packets: number;
  sojourn_ms: Quantiles;
}

export interface GroupSummary {
  kind: string;
  goodput_bps: number;
  transfers: number;
  completion_ms: Quantiles;
  delay_ms: number | null;
  delay_variation_ms: number | null;
  loss_rate: number | null;
  mos: number | null;
}

/** Of docs/results.md what the page shows. */
export interface Summary {
  duration_s: number;
  warmup_s: number;
  goodput_bps: number;
  jain: number | null;
  links: { forward: LinkSummary; reverse: LinkSummary };
  groups: GroupSummary[];
  flows: { id: number; group: number; goodput_bps: number; retransmissions: number }[];
}

/** The queue at an instant, to look into. */
export interface Look {
  at_ns: number;
  link: LinkView;
}

export type Reason = "playhead" | "packet";

export type Request =
  | { do: "load"; module: WebAssembly.Module }
  /** A text with edits, comments and layout kept. */
  | { do: "edit"; id: number; text: string; edits: Edit[]; files: Job["files"] }
  | { do: "run"; id: number; job: Job }
  /** The queue at an instant of the job that ran last: for the playhead, or for the packet that was selected. */
  | { do: "look"; id: number; at_ns: number; reason: Reason };

export type Reply =
  | { is: "loaded"; version: string; registry: Registry }
  | { is: "progress"; id: number; at_ns: number; duration_ns: number }
  | { is: "done"; id: number; outcome: Outcome }
  | { is: "look"; id: number; look: Look; reason: Reason }
  /** Null where the edits cannot be made in the text. */
  | { is: "edited"; id: number; text: string | null }
  | { is: "refused"; id: number; message: string }
  | { is: "failed"; message: string };
