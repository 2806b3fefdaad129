/** The page's state, the two simulators, and the listeners for changes. */

import { fromBase64, type Edit, type Payload, type Registry, type Start } from "../core/core.js";
import { Client } from "../sim/client.js";
import { firstDifference, type FirstDifference } from "../sim/first-difference.js";
import type { Job, QueueSnapshot } from "../sim/protocol.js";
import { SideRun } from "../sim/run.js";
import { parseQuantity } from "../base/quantity.js";
import { find, parseAqm, spell } from "../model/aqm.js";
import { edits, flatten, get, type Doc, type Json } from "../model/doc.js";
import { FIRST, presetState, presetText } from "../model/presets.js";
import { aqmOf, changesOf, linkPath, sideDoc, SIDES, type Side, type State } from "../model/state.js";
import { fromToml, isJson, toToml } from "../model/toml.js";
import type { Theme } from "../style/palette.js";

export type Topic = "state" | "runs" | "time" | "snapshot" | "errors" | "progress" | "selection" | "theme";

/** The packet selected by the user. */
export interface Selection {
  side: Side;
  row: number;
}

export class Session {
  state: State;
  runs: Record<Side, SideRun | null> = { a: null, b: null };
  snapshots: Record<Side, QueueSnapshot | null> = { a: null, b: null };
  /** Snapshot of the queue just before the verdict on the selected packet. */
  before: QueueSnapshot | null = null;
  first: FirstDifference | null = null;
  selection: Selection | null = null;
  /** Error message per side; empty for none. */
  errors: Record<Side, string> = { a: "", b: "" };
  /** Progress of the simulators, from 0 to 1; null when they are done. */
  progress: Record<Side, number | null> = { a: null, b: null };
  playing = false;
  /** Whether changes apply from the playhead on, as entries of `[[changes]]`, or to the whole run. */
  fromNow = false;
  /** Simulated time at which the current drag of a slider started, so that a drag is one change; null for none. */
  drag_ns: number | null = null;
  theme: Theme = "light";
  registry!: Registry;
  version = "";
  files: Record<string, Uint8Array> = {};
  /** Source text of an opened scenario; null for none. */
  source: string | null = null;
  /** Title from the embedding page, for a scenario without a name. */
  title = "";
  /** URL at which the server runs scenarios that are too big for the browser; null for none. */
  native: string | null = null;
  /** Result shown in A until its scenario is changed. */
  private result: { payload: Payload; doc: string } | null = null;
  private readonly clients: Record<Side, Client>;
  private readonly jobs: Record<Side, string> = { a: "", b: "" };
  private readonly listeners = new Map<Topic, Set<() => void>>();

  constructor(module: WebAssembly.Module, start: State) {
    this.state = start;
    this.clients = { a: this.client(module, "a"), b: this.client(module, "b") };
  }

  /** Resolves when both simulators are loaded. */
  async load(): Promise<void> {
    const [{ version, registry }] = await Promise.all([this.clients.a.loaded, this.clients.b.loaded]);
    this.registry = registry;
    this.version = version;
  }

  private client(module: WebAssembly.Module, side: Side): Client {
    return new Client(module, {
      progress: share => {
        this.progress[side] = share;
        this.notify("progress");
      },
      done: outcome => {
        this.progress[side] = null;
        if (this.errors[side]) {
          this.errors[side] = "";
          this.notify("errors");
        }
        this.runs[side] = new SideRun(outcome);
        this.snapshots[side] = null;
        if (this.selection?.side === side) this.select(null);
        this.compare();
        this.notify("runs", "progress");
        this.clients[side].snapshot(this.state.at_ns);
      },
      refused: message => {
        this.progress[side] = null;
        this.errors[side] = message;
        this.notify("errors", "progress");
      },
      snapshot: (snapshot, reason) => {
        if (reason === "playhead") this.snapshots[side] = snapshot;
        else if (this.selection?.side === side) this.before = snapshot;
        this.notify("snapshot");
      },
    });
  }

  private compare(): void {
    const { a, b } = this.runs;
    this.first = a && b ? firstDifference(a.index, b.index) : null;
  }

  on(topics: Topic[], listener: () => void): void {
    for (const topic of topics) {
      if (!this.listeners.has(topic)) this.listeners.set(topic, new Set());
      this.listeners.get(topic)!.add(listener);
    }
  }

  notify(...topics: Topic[]): void {
    const called = new Set<() => void>();
    for (const topic of topics) for (const listener of this.listeners.get(topic) ?? []) called.add(listener);
    for (const listener of called) listener();
  }

  /** Changes the state and reruns the sides that it affects. */
  update(change: Partial<State> | ((state: State) => State)): void {
    this.state = typeof change === "function" ? change(this.state) : { ...this.state, ...change };
    this.notify("state");
    this.simulate();
  }

  choose(id: string): void {
    const chosen = presetState(id);
    if (!chosen) return;
    this.fromNow = false;
    this.select(null);
    this.update({ ...chosen, speed: this.state.speed });
    this.notify("time");
  }

  /** Opens a scenario's text. Throws an error with a message for the user if it cannot be parsed. */
  openText(text: string): void {
    const doc = fromToml(text);
    this.source = isJson(text) ? null : text;
    const of = get(doc, `${linkPath(doc)}.aqm`);
    const b: Json = of === undefined || of === "droptail" ? "codel" : "droptail";
    this.update({ ...this.state, base: "", doc, b, changes: [], at_ns: 0, zoom: null, lesson: "", paper: "" });
    this.notify("time");
  }

  /**
   * Shows a result from disk in A; B runs the same scenario with its own queue manager. A result without recorded
   * packets is run again, and the fingerprints are compared.
   */
  show(payload: Payload): void {
    const doc = payload.checked.scenario as unknown as Doc;
    if (this.state.base) this.state = { ...this.state, base: "", doc: { ...doc, seed: payload.seed }, at_ns: 0 };
    this.result = { payload, doc: JSON.stringify(this.state.doc) };
  }

  /** Fingerprint of the result shown or rerun in A; null without one. */
  get stored(): string | null {
    if (!this.isResult() || changesOf(this.state, "a").length) return null;
    return (this.result!.payload.summary as { fingerprint?: string } | null)?.fingerprint ?? null;
  }

  /**
   * A side's scenario as it ran, for a file: the source text with its comments, edited, if all changes can be made in
   * it; else the plain text.
   */
  async text(side: Side): Promise<string> {
    const plain = this.runs[side]?.outcome.text ?? "";
    const source = this.state.base ? presetText(this.state.base) : this.source;
    if (source === null) return plain;
    const job = this.job(side);
    const sets = edits(fromToml(source), fromToml(job.text)) as Edit[];
    const text = await this.clients[side].edit(source, [...sets, ...job.changes], this.files);
    const isSame = text !== null && JSON.stringify(flat(text)) === JSON.stringify(flat(plain));
    return isSame ? text : plain;
  }

  private job(side: Side): Job {
    const { state } = this;
    const arrivals = state.mode === "arrivals";
    const doc = sideDoc(state, arrivals ? "a" : side);
    const limit = get(doc, `${linkPath(doc)}.limit`);
    const changes = arrivals ? [] : changesOf(state, side);
    const aqm = aqmOf(state, side) ?? "droptail";
    const hasPackets = this.result?.payload.tables["packets"] !== undefined;
    return {
      text: toToml(doc),
      changes: changes.map(change => {
        const { side: _, ...rest } = change;
        return rest as Job["changes"][number];
      }),
      sets: probes(doc),
      files: this.files,
      replay: arrivals
        ? { aqm: typeof aqm === "string" ? aqm : JSON.stringify(aqm), limit: typeof limit === "string" ? limit : null }
        : null,
      native: this.native && !arrivals && expectedPackets(doc) > MAX_PACKETS ? this.native : null,
      payload:
        side === "a" && !arrivals && !changes.length && this.isResult() && hasPackets ? this.result!.payload : null,
    };
  }

  private isResult(): boolean {
    return this.result !== null && this.result.doc === JSON.stringify(this.state.doc);
  }

  /** Runs the sides whose scenario has changed. */
  simulate(): void {
    for (const side of SIDES) {
      const job = this.job(side);
      const key = JSON.stringify([
        job.text,
        job.changes,
        job.replay,
        Object.entries(job.files).map(([name, bytes]) => [name, bytes.length]),
        job.payload !== null,
      ]);
      if (key === this.jobs[side]) continue;
      this.jobs[side] = key;
      this.progress[side] = 0;
      this.clients[side].run(job);
    }
    this.notify("progress");
  }

  /** Moves the playhead. */
  seek(at_ns: number): void {
    const at = Math.min(this.duration_ns, Math.max(0, Math.round(at_ns)));
    this.state = { ...this.state, at_ns: at };
    this.notify("time");
    this.requestSnapshots();
  }

  /** Requests a snapshot of both queues at the playhead. */
  requestSnapshots(): void {
    for (const side of SIDES)
      if (this.runs[side] && this.progress[side] === null) this.clients[side].snapshot(this.state.at_ns);
  }

  get duration_ns(): number {
    return Math.max(1, ...SIDES.map(side => this.runs[side]?.outcome.duration_ns ?? 0));
  }

  get isBusy(): boolean {
    return SIDES.some(side => this.progress[side] !== null);
  }

  /** Seeks to the next or previous event at either queue. */
  step(direction: 1 | -1): void {
    const known = SIDES.flatMap(side => this.runs[side] ?? []);
    if (!known.length) return;
    const { at_ns } = this.state;
    const at =
      direction > 0
        ? Math.min(...known.map(run => run.index.next(at_ns)))
        : Math.max(...known.map(run => run.index.previous(at_ns)));
    this.pause();
    if (Number.isFinite(at)) this.seek(at);
  }

  play(playing: boolean): void {
    if (playing && this.state.at_ns >= this.duration_ns) this.seek(0);
    this.playing = playing;
    this.notify("state");
    if (!playing) this.requestSnapshots();
  }

  private pause(): void {
    if (this.playing) this.play(false);
  }

  private judgedAt({ side, row }: Selection): number {
    const run = this.runs[side]!;
    const { time } = run.packets;
    return Math.max(0, (Number.isFinite(time[row]!) ? time[row]! : run.index.arrived(row)) - 1);
  }

  /** Selects a packet and requests a snapshot of the queue just before the verdict on it. */
  select(selection: Selection | null): void {
    this.selection = selection;
    this.before = null;
    if (selection && this.runs[selection.side]) {
      this.pause();
      this.clients[selection.side].snapshotBefore(this.judgedAt(selection));
    }
    this.notify("selection");
  }

  /** Display name of a side's queue manager. */
  name(side: Side): string {
    const value = aqmOf(this.state, side);
    const aqm = this.registry && parseAqm(value, this.registry);
    return aqm ? spell(aqm, this.registry) : typeof value === "string" ? value : JSON.stringify(value ?? "droptail");
  }

  layout(side: Side): "one" | "flows" | "dual" {
    const aqm = parseAqm(aqmOf(this.state, side), this.registry);
    if (!aqm) return "one";
    if (aqm.name === "dualpi2") return "dual";
    return find(this.registry, aqm.name)?.by_flow ? "flows" : "one";
  }

  close(): void {
    for (const side of SIDES) this.clients[side].close();
    this.listeners.clear();
  }
}

/** Leaves of a scenario's text, sorted by path. */
const flat = (text: string): [string, Json][] => [...flatten(fromToml(text))].sort(([x], [y]) => (x < y ? -1 : 1));

/** Runs with more packets are made by the server, if there is one. */
const MAX_PACKETS = 2_000_000;

/** Approximate number of full-sized packets that the link can send during the run. */
function expectedPackets(doc: Doc): number {
  const rates = String(get(doc, `${linkPath(doc)}.rate`) ?? "").split(",");
  const fastest = Math.max(0, ...rates.map(rate => parseQuantity(rate.split("@")[0] ?? "", "rate") ?? 0));
  return (fastest * (parseQuantity(String(doc["duration"] ?? ""), "time") ?? 0)) / 1e9 / 12_000;
}

/** Probes for the plots, with steps that bound the number of rows for any duration. */
function probes(doc: Doc): [string, string][] {
  const duration_ns = parseQuantity(String(doc["duration"] ?? ""), "time") ?? 60e9;
  const step = (rows: number, least: number): string => `${Math.max(least, Math.ceil(duration_ns / rows / 1e6))} ms`;
  return [
    ["probes.flows", step(300, 20)],
    ["probes.state", step(2000, 2)],
    ["probes.transfers", "true"],
  ];
}

/** Initial state from an embedding page or `sojourn lab`. Throws an error with a message for the user. */
export function startState(start: Start): { state: State; files: Record<string, Uint8Array> } {
  const first = presetState(FIRST)!;
  const files = Object.fromEntries(Object.entries(start.files ?? {}).map(([name, text]) => [name, fromBase64(text)]));
  if (start.text === undefined) return { state: first, files };
  const parsed = fromToml(start.text);
  const doc = start.seed === undefined ? parsed : { ...parsed, seed: start.seed };
  const aqm = get(doc, `${linkPath(doc)}.aqm`);
  const b: Json = aqm === undefined || aqm === "droptail" ? "codel" : "droptail";
  return { state: { ...first, base: "", doc, b, at_ns: 0 }, files };
}
