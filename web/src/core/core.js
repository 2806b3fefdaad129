// Loader of the WebAssembly module of crates/web; `core.d.ts` beside it documents the exports.

import { InputError } from "./errors.js";
import { Playback } from "./playback.js";

export { InputError } from "./errors.js";
export { decodePayload } from "./playback.js";
export { ECN, FATES, REASONS } from "./words.js";

export async function load(source) {
  const given = await source;
  const module = given instanceof WebAssembly.Module ? given : await WebAssembly.compile(await bytesOf(given));
  const first = await Instance.of(module);
  return new Core(module, first, first.call({ op: "about" }));
}

export function fromBase64(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

async function bytesOf(given) {
  return typeof Response !== "undefined" && given instanceof Response ? given.arrayBuffer() : given;
}

/** An instance of the module, with its own memory. */
class Instance {
  static async of(module) {
    return new Instance((await WebAssembly.instantiate(module, {})).exports, module);
  }

  constructor(exports, module) {
    this.exports = exports;
    this.module = module;
  }

  addFiles(files = {}) {
    for (const [name, data] of Object.entries(files)) {
      const encoded = encoder.encode(name);
      const room = this.room(encoded.length + data.length);
      room.set(encoded);
      room.set(data, encoded.length);
      this.exports.sojourn_file(encoded.length);
    }
  }

  /** Sends a request and returns the response, with columns copied out of the module's memory. */
  call(request) {
    const encoded = encoder.encode(JSON.stringify(request));
    this.room(encoded.length).set(encoded);
    let length;
    try {
      length = this.exports.sojourn_call();
    } catch (error) {
      const fault = this.exports.sojourn_fault();
      if (fault === 0) throw error;
      throw new Error(`the simulator failed: ${this.answer(fault).fault}`, { cause: error });
    }
    const { problem, value, columns } = this.answer(length);
    if (problem !== undefined) throw new InputError(problem);
    return filled(value, columns.map((place) => this.column(place)));
  }

  room(bytes) {
    const at = this.exports.sojourn_room(bytes);
    return new Uint8Array(this.exports.memory.buffer, at, bytes);
  }

  answer(bytes) {
    const text = new Uint8Array(this.exports.memory.buffer, this.exports.sojourn_answer(), bytes);
    return JSON.parse(decoder.decode(text));
  }

  column([kind, at, length]) {
    return new ARRAYS[kind](this.exports.memory.buffer, at, length).slice();
  }

  /** The complete state between calls: the stack is empty, and the module has no imports. */
  get memory() {
    return new Uint8Array(this.exports.memory.buffer);
  }

  set memory(copy) {
    const missing = copy.length - this.exports.memory.buffer.byteLength;
    if (missing > 0) this.exports.memory.grow(missing / PAGE);
    this.memory.set(copy);
  }

  async clone() {
    const other = await Instance.of(this.module);
    other.memory = this.memory;
    return other;
  }
}

class Core {
  #module;
  #first;

  constructor(module, first, { version, registry, schema }) {
    this.#module = module;
    this.#first = first;
    Object.assign(this, { version, registry, schema });
  }

  check(text, { files, sets } = {}) {
    this.#first.addFiles(files);
    return this.#first.call({ op: "check", text, sets });
  }

  edit(text, edits, { files } = {}) {
    this.#first.addFiles(files);
    return this.#first.call({ op: "edit", text, edits });
  }

  async open(text, { files, sets, seed, packets } = {}) {
    const instance = await this.#instance(files);
    return new Run("simulation", instance, instance.call({ op: "open", text, sets, seed, packets }));
  }

  async record(text, { files, sets, seed } = {}) {
    const instance = await this.#instance(files);
    const recorded = instance.call({ op: "record", text, sets, seed });
    INSTANCES.set(recorded, instance);
    return recorded;
  }

  async replay(arrivals, aqm, limit) {
    const instance = await INSTANCES.get(arrivals).clone();
    instance.call({ op: "replay", aqm, limit });
    return new Run("replay", instance, arrivals);
  }

  async differenceOnArrivals(arrivals, a, b) {
    const instance = await INSTANCES.get(arrivals).clone();
    return instance.call({ op: "difference", of: "arrivals", a, b });
  }

  async differenceOfTraffic(a, b, { files, sets, seed } = {}) {
    const instance = await this.#instance(files);
    return instance.call({ op: "difference", of: "traffic", a, b, sets, seed });
  }

  async playback(payload) {
    return new Playback(payload);
  }

  async #instance(files) {
    const instance = await Instance.of(this.#module);
    instance.addFiles(files);
    return instance;
  }
}

class Run {
  #instance;
  /** Last view of a finished run. */
  #last = null;
  #outcome = null;

  constructor(kind, instance, { checked, seed, duration_ns }) {
    this.#instance = instance;
    Object.assign(this, { kind, checked, seed, duration_ns, now_ns: 0, finished: false });
  }

  advance(until_ns) {
    return this.#go({ op: "advance", until_ns: Math.min(until_ns, this.duration_ns) });
  }

  step(link) {
    return this.#go({ op: "step", link });
  }

  view() {
    if (this.#last === null) return shown(this.#instance.call({ op: "view" }));
    const last = this.#last;
    this.#last = { ...last, events: none(EVENTS) };
    return last;
  }

  finish() {
    if (this.#outcome === null) {
      this.advance(this.duration_ns);
      this.#last = this.view();
      this.#outcome = this.#instance.call({ op: "finish" });
      this.#instance = null;
    }
    return this.#outcome;
  }

  checkpoint() {
    const { now_ns, finished } = this;
    const checkpoint = { now_ns, bytes: this.#instance.memory.length };
    COPIES.set(checkpoint, { module: this.#instance.module, memory: this.#instance.memory.slice(), finished });
    return checkpoint;
  }

  restore(checkpoint) {
    const { memory, finished } = COPIES.get(checkpoint);
    this.#instance.memory = memory;
    this.now_ns = checkpoint.now_ns;
    this.finished = finished;
  }

  async clone() {
    const other = new Run(this.kind, await this.#instance.clone(), this);
    other.now_ns = this.now_ns;
    other.finished = this.finished;
    return other;
  }

  close() {
    this.#instance = null;
  }

  #go(request) {
    if (this.#outcome === null) Object.assign(this, this.#instance.call(request));
    return this.finished;
  }
}

/** Adds empty columns to a view that lacks them. */
function shown(view) {
  view.events ??= none(EVENTS);
  view.flows ??= none(FLOWS);
  for (const link of view.links) link.waiting ??= none(WAITING);
  return view;
}

function none(columns) {
  return Object.fromEntries(Object.entries(columns).map(([name, kind]) => [name, new ARRAYS[kind](0)]));
}

/** The response with its columns filled in. */
function filled(value, columns) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((part) => filled(part, columns));
  if (Number.isInteger(value.column) && Object.keys(value).length === 1) return columns[value.column];
  for (const [key, part] of Object.entries(value)) value[key] = filled(part, columns);
  return value;
}

const ARRAYS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };
const EVENTS = {
  time_ns: "f64", link: "u16", flow: "u32", bytes: "u32", sojourn_ns: "f64", fate: "u8", arrival: "u32", ecn: "u8",
};
const WAITING = { time_ns: "f64", flow: "u32", bytes: "u32", arrival: "u32", ecn: "u8" };
const FLOWS = {
  arrived_bytes: "f64", delivered_bytes: "f64", sent: "f64", retransmissions: "f64", timeouts: "f64", cwnd: "f64",
  srtt_ms: "f64", in_flight: "f64",
};
/** Size of a WebAssembly page in bytes. */
const PAGE = 1 << 16;
/** Private data of arrivals and checkpoints. */
const INSTANCES = new WeakMap();
const COPIES = new WeakMap();
const encoder = new TextEncoder();
const decoder = new TextDecoder();
