/** Messages between the page and the simulating workers. */

import type { Checked, Edit, Json, LinkView, Payload, Registry } from "../core/core.js";

/** Simulation job for one side of the page. */
export interface Job {
  /** TOML. */
  text: string;
  /** Changes during the run, in order of time. */
  changes: ({ at_ns: number; set: string; value: Json } | { at_ns: number; group: number; count: number })[];
  /** Overrides by dotted path: the probes for the plots. */
  sets: [string, string][];
  /** Files named in the scenario. */
  files: Record<string, Uint8Array>;
  /** Queue manager and limit for a replay of recorded arrivals; null to run the scenario itself. */
  replay: { aqm: string; limit: string | null } | null;
  /** Finished run to play back instead, from disk or a native run. */
  payload: Payload | null;
  /** URL of the server for runs with too many packets for a browser; null to run here. */
  native: string | null;
}

/** Packets of a queue, as columns of equal length in order of departure. */
export interface Packets {
  /** Start of transmission, or time of the drop, in ns. */
  time: Float64Array;
  /** Sojourn time in ns. */
  sojourn: Float64Array;
  flow: Uint32Array;
  bytes: Uint32Array;
  /** Arrival index at the queue. */
  arrival: Uint32Array;
  /** Index in `FATES` of the core; `WAITING` if still queued at the end. */
  fate: Uint8Array;
  /** ECN field on arrival. */
  ecn: Uint8Array;
}

/** Fate of packets queued at the end of the run; not in the core's `FATES`. */
export const WAITING = 255;

export type Table = Record<string, Float64Array | Uint32Array | Uint16Array | Uint8Array>;

/** A finished run. */
export interface Outcome {
  /** The scenario as it ran, as TOML with its changes. */
  text: string;
  checked: Checked;
  duration_ns: number;
  /** Null for a replay, as is the summary. */
  fingerprint: string | null;
  summary: Summary | null;
  forward: Packets;
  reverse: Packets;
  /** Time up to which packets are kept. */
  kept_ns: number;
  tables: Record<string, Table>;
  /** Duration of the simulation in ms, by the worker's clock. */
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

/** The part of the summary (docs/results.md) that the page shows. */
export interface Summary {
  duration_s: number;
  warmup_s: number;
  goodput_bps: number;
  jain: number | null;
  links: { forward: LinkSummary; reverse: LinkSummary };
  groups: GroupSummary[];
  flows: { id: number; group: number; goodput_bps: number; retransmissions: number }[];
}

/** Snapshot of the queue. */
export interface QueueSnapshot {
  at_ns: number;
  link: LinkView;
}

export type Reason = "playhead" | "packet";

export type Request =
  | { do: "load"; module: WebAssembly.Module }
  /** Edit a text; comments and layout are kept. */
  | { do: "edit"; id: number; text: string; edits: Edit[]; files: Job["files"] }
  | { do: "run"; id: number; job: Job }
  /** Snapshot of the last job's queue: at the playhead, or for the selected packet. */
  | { do: "snapshot"; id: number; at_ns: number; reason: Reason };

export type Reply =
  | { is: "loaded"; version: string; registry: Registry }
  | { is: "progress"; id: number; at_ns: number; duration_ns: number }
  | { is: "done"; id: number; outcome: Outcome }
  | { is: "snapshot"; id: number; snapshot: QueueSnapshot; reason: Reason }
  /** Null if the edits cannot be made in the text. */
  | { is: "edited"; id: number; text: string | null }
  | { is: "refused"; id: number; message: string }
  | { is: "failed"; message: string };
