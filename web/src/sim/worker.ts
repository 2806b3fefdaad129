/** Worker that simulates one side of the page. A new job cancels the current one. */

import {
  decodePayload,
  load,
  InputError,
  type Core,
  type Edit,
  type NativeRequest,
  type Payload,
  type Run,
} from "../core/core.js";
import { PacketLog, StateLog } from "./columns.js";
import { SnapshotRun } from "./snapshots.js";
import type { Job, Outcome, Reply, Request, Summary, Table } from "./protocol.js";

/** Steps of a run; newer requests are handled between steps. */
const STEPS = 24;
/** Samples of a queue manager's state in a replay. */
const SAMPLES = 600;
/** Interval in ms at which progress is reported and messages are handled. */
const POLL_MS = 40;
/** Maximum number of packets kept per queue, to fit a phone's memory. */
const MAX_PACKETS = 2_000_000;

let core: Core | null = null;
let newest = -1;
let snapshots: SnapshotRun | null = null;

const post = (reply: Reply, transfer: Transferable[] = []): void =>
  (self as unknown as { postMessage(message: Reply, transfer: Transferable[]): void }).postMessage(reply, transfer);

/** Yields to the event loop, so that pending messages are handled. */
const drainMessages = (): Promise<void> =>
  new Promise(resolve => {
    const { port1, port2 } = new MessageChannel();
    port2.onmessage = () => {
      port1.close();
      resolve();
    };
    port1.postMessage(null);
  });

async function start(simulator: Core, job: Job): Promise<{ run: Run; text: string }> {
  const { files } = job;
  if (job.payload) return { run: await simulator.playback(job.payload), text: job.text };
  const edits: Edit[] = job.changes;
  const text = edits.length ? simulator.edit(job.text, edits, { files }) : job.text;
  if (job.replay) {
    const arrivals = await simulator.record(text, { files });
    const run = await simulator.replay(arrivals, job.replay.aqm, job.replay.limit ?? undefined);
    return { run, text };
  }
  if (job.native) {
    job.payload = await runNatively(job.native, text, files);
    return { run: await simulator.playback(job.payload), text };
  }
  return { run: await simulator.open(text, { files, sets: job.sets }), text };
}

/** Has the server run a scenario natively. Throws an error with a message for the user. */
async function runNatively(address: string, text: string, files: Job["files"]): Promise<Payload> {
  const encoded = Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, toBase64(bytes)]));
  const request: NativeRequest = { text, files: encoded };
  const answer = await fetch(address, { method: "POST", body: JSON.stringify(request) });
  if (!answer.ok) throw new InputError((await answer.text()) || `the server answered ${answer.status}`);
  return decodePayload(new Uint8Array(await answer.arrayBuffer()));
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

async function simulate(simulator: Core, id: number, job: Job): Promise<Outcome | null> {
  const began = performance.now();
  const { run, text } = await start(simulator, job);
  try {
    const { duration_ns, checked } = run;
    const [forward, reverse] = [new PacketLog(), new PacketLog()];
    let kept_ns = duration_ns;
    let polled = began;
    // A replay has no probes, so sample the queue manager's state after each step.
    const sampled = run.kind === "replay" ? new StateLog() : null;
    const steps = sampled ? SAMPLES : STEPS;
    for (let step = 1; step <= steps; step++) {
      run.advance(step === steps ? duration_ns : Math.round((duration_ns * step) / steps));
      const { events, links } = run.view();
      sampled?.append(run.now_ns, links[0]!.state);
      if (kept_ns === duration_ns) {
        forward.append(events, 0);
        reverse.append(events, 1);
        if (step === steps) forward.appendWaiting(links[0]!.waiting);
        else if (forward.length > MAX_PACKETS) kept_ns = run.now_ns;
      }
      if (id !== newest) return null;
      if (performance.now() - polled > POLL_MS) {
        polled = performance.now();
        post({ is: "progress", id, at_ns: run.now_ns, duration_ns });
        await drainMessages();
        if (id !== newest) return null;
      }
    }
    const { fingerprint, summary, tables } = run.finish();
    return {
      text,
      checked,
      duration_ns,
      fingerprint,
      summary: summary as Summary | null,
      forward: forward.take(),
      reverse: reverse.take(),
      kept_ns,
      tables: { ...(tables as Record<string, Table>), ...(sampled && { state: sampled.take() }) },
      took_ms: performance.now() - began,
    };
  } finally {
    run.close();
  }
}

/** Buffers of an outcome, to transfer instead of copying. */
function buffers(outcome: Outcome): ArrayBuffer[] {
  const columns = [outcome.forward, outcome.reverse, ...Object.values(outcome.tables)] as Record<string, unknown>[];
  const all = columns.flatMap(table => Object.values(table)).filter(ArrayBuffer.isView);
  return [...new Set(all.map(view => view.buffer as ArrayBuffer))];
}

function edited(simulator: Core, text: string, edits: Edit[], files: Job["files"]): string | null {
  try {
    return simulator.edit(text, edits, { files });
  } catch {
    return null;
  }
}

async function answer(request: Request): Promise<void> {
  if (request.do === "load") {
    core = await load(request.module);
    post({ is: "loaded", version: core.version, registry: core.registry });
    return;
  }
  if (!core) return;
  if (request.do === "snapshot") {
    const snapshot = await snapshots?.at(request.at_ns);
    if (snapshot) post({ is: "snapshot", id: request.id, snapshot, reason: request.reason });
    return;
  }
  if (request.do === "edit") {
    post({ is: "edited", id: request.id, text: edited(core, request.text, request.edits, request.files) });
    return;
  }
  newest = request.id;
  // A dragged slider requests runs faster than they finish: skip all but the newest.
  await drainMessages();
  if (request.id !== newest) return;
  snapshots?.close();
  snapshots = new SnapshotRun(core, request.job);
  const outcome = await simulate(core, request.id, request.job);
  // A playback reads its payload's tables again, so copy instead of transferring.
  if (outcome) post({ is: "done", id: request.id, outcome }, request.job.payload ? [] : buffers(outcome));
}

self.onmessage = ({ data }: MessageEvent<Request>) => {
  answer(data).catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    const id = "id" in data ? data.id : -1;
    if (error instanceof InputError) post({ is: "refused", id, message });
    else if (id >= 0 && data.do === "run" && id !== newest) return;
    else post({ is: "failed", message });
  });
};
