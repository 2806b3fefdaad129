/** Simulates one side of the page, away from the page's own thread. A newer job takes the place of one that is under way. */

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
import { Looker } from "./looker.js";
import type { Job, Outcome, Reply, Request, Summary, Table } from "./protocol.js";

/** So many steps a run is made in; between two, newer requests are heard. */
const STEPS = 24;
/** So many times the state of a queue manager is sampled in a replay. */
const SAMPLES = 600;
/** Runs that take longer tell how far they are, and hear of newer jobs, this often. */
const PATIENCE_MS = 40;
/** Packets kept of one queue; more would not fit a phone. */
const MOST_PACKETS = 2_000_000;

let core: Core | null = null;
let newest = -1;
let looker: Looker | null = null;

const say = (reply: Reply, transfer: Transferable[] = []): void =>
  (self as unknown as { postMessage(message: Reply, transfer: Transferable[]): void }).postMessage(reply, transfer);

/** Lets messages in that have come meanwhile. */
const breathe = (): Promise<void> =>
  new Promise(resolve => {
    const { port1, port2 } = new MessageChannel();
    port2.onmessage = () => {
      port1.close();
      resolve();
    };
    port1.postMessage(null);
  });

async function start(known: Core, job: Job): Promise<{ run: Run; text: string }> {
  const { files } = job;
  if (job.payload) return { run: await known.playback(job.payload), text: job.text };
  const edits: Edit[] = job.changes;
  const text = edits.length ? known.edit(job.text, edits, { files }) : job.text;
  if (job.replay) {
    const arrivals = await known.record(text, { files });
    const run = await known.replay(arrivals, job.replay.aqm, job.replay.limit ?? undefined);
    return { run, text };
  }
  if (job.native) {
    job.payload = await natively(job.native, text, files);
    return { run: await known.playback(job.payload), text };
  }
  return { run: await known.open(text, { files, sets: job.sets }), text };
}

/** The finished run of a scenario, by the server that the page came from. Throws an error for people. */
async function natively(address: string, text: string, files: Job["files"]): Promise<Payload> {
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

async function simulate(known: Core, id: number, job: Job): Promise<Outcome | null> {
  const began = performance.now();
  const { run, text } = await start(known, job);
  try {
    const { duration_ns, checked } = run;
    const [forward, reverse] = [new PacketLog(), new PacketLog()];
    let kept_ns = duration_ns;
    let heard = began;
    // A replay has no probes: its queue manager is looked at in passing.
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
        else if (forward.length > MOST_PACKETS) kept_ns = run.now_ns;
      }
      if (id !== newest) return null;
      if (performance.now() - heard > PATIENCE_MS) {
        heard = performance.now();
        say({ is: "progress", id, at_ns: run.now_ns, duration_ns });
        await breathe();
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

/** The buffers of an outcome, which move to the page instead of being copied. */
function buffers(outcome: Outcome): ArrayBuffer[] {
  const columns = [outcome.forward, outcome.reverse, ...Object.values(outcome.tables)] as Record<string, unknown>[];
  const all = columns.flatMap(table => Object.values(table)).filter(ArrayBuffer.isView);
  return [...new Set(all.map(view => view.buffer as ArrayBuffer))];
}

function edited(known: Core, text: string, edits: Edit[], files: Job["files"]): string | null {
  try {
    return known.edit(text, edits, { files });
  } catch {
    return null;
  }
}

async function answer(request: Request): Promise<void> {
  if (request.do === "load") {
    core = await load(request.module);
    say({ is: "loaded", version: core.version, registry: core.registry });
    return;
  }
  if (!core) return;
  if (request.do === "look") {
    const look = await looker?.at(request.at_ns);
    if (look) say({ is: "look", id: request.id, look, reason: request.reason });
    return;
  }
  if (request.do === "edit") {
    say({ is: "edited", id: request.id, text: edited(core, request.text, request.edits, request.files) });
    return;
  }
  newest = request.id;
  // A slider that is dragged asks for more than there is time for: only the last of what has come is run.
  await breathe();
  if (request.id !== newest) return;
  looker?.close();
  looker = new Looker(core, request.job);
  const outcome = await simulate(core, request.id, request.job);
  // A playback reads its payload's tables again, so these are copied.
  if (outcome) say({ is: "done", id: request.id, outcome }, request.job.payload ? [] : buffers(outcome));
}

self.onmessage = ({ data }: MessageEvent<Request>) => {
  answer(data).catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    const id = "id" in data ? data.id : -1;
    if (error instanceof InputError) say({ is: "refused", id, message });
    else if (id >= 0 && data.do === "run" && id !== newest) return;
    else say({ is: "failed", message });
  });
};
