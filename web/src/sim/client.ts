/** Client of a side's worker: a new job replaces the current one. */

import workerSource from "virtual:worker";
import type { Edit, Registry } from "../core/core.js";
import type { Job, QueueSnapshot, Outcome, Reason, Reply, Request } from "./protocol.js";

export interface Listener {
  progress(share: number): void;
  done(outcome: Outcome): void;
  /** Invalid input, or a failure of the simulator. */
  refused(message: string): void;
  snapshot(snapshot: QueueSnapshot, reason: Reason): void;
}

let address: string | null = null;

export class Client {
  private readonly worker: Worker;
  private id = 0;
  /** Whether a snapshot request is in flight, and the last time requested meanwhile. */
  private isBusy = false;
  private pending_ns: number | null = null;
  private edits = 0;
  private readonly edited = new Map<number, (text: string | null) => void>();
  readonly loaded: Promise<{ version: string; registry: Registry }>;

  constructor(module: WebAssembly.Module, listener: Listener) {
    address ??= URL.createObjectURL(new Blob([workerSource], { type: "text/javascript" }));
    this.worker = new Worker(address);
    let loaded: (value: { version: string; registry: Registry }) => void;
    let broken: (reason: Error) => void;
    this.loaded = new Promise((resolve, reject) => {
      loaded = resolve;
      broken = reject;
    });
    this.worker.onerror = event => {
      broken(new Error(event.message));
      listener.refused(event.message);
    };
    this.worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      if (data.is === "loaded") loaded({ version: data.version, registry: data.registry });
      else if (data.is === "failed") {
        broken(new Error(data.message));
        listener.refused(data.message);
      } else if (data.is === "snapshot") {
        if (data.id !== this.id) return;
        listener.snapshot(data.snapshot, data.reason);
        if (data.reason === "playhead") this.next();
      } else if (data.is === "edited") {
        this.edited.get(data.id)?.(data.text);
        this.edited.delete(data.id);
      } else if (data.id !== this.id) return;
      else if (data.is === "progress") listener.progress(data.at_ns / data.duration_ns);
      else if (data.is === "done") listener.done(data.outcome);
      else listener.refused(data.message);
    };
    this.post({ do: "load", module });
  }

  private post(request: Request): void {
    this.worker.postMessage(request);
  }

  run(job: Job): void {
    this.isBusy = false;
    this.pending_ns = null;
    this.post({ do: "run", id: ++this.id, job });
  }

  /** Requests a snapshot at the playhead. While one is in flight, only the last requested time is kept. */
  snapshot(at_ns: number): void {
    if (this.isBusy) {
      this.pending_ns = at_ns;
      return;
    }
    this.isBusy = true;
    this.post({ do: "snapshot", id: this.id, at_ns, reason: "playhead" });
  }

  private next(): void {
    this.isBusy = false;
    const { pending_ns } = this;
    this.pending_ns = null;
    if (pending_ns !== null) this.snapshot(pending_ns);
  }

  /** Requests a snapshot just before the verdict on a packet. */
  snapshotBefore(at_ns: number): void {
    this.post({ do: "snapshot", id: this.id, at_ns, reason: "packet" });
  }

  /** Applies edits to a text; null if that is not possible. */
  edit(text: string, edits: Edit[], files: Job["files"]): Promise<string | null> {
    const id = ++this.edits;
    return new Promise(resolve => {
      this.edited.set(id, resolve);
      this.post({ do: "edit", id, text, edits, files });
    });
  }

  close(): void {
    this.worker.terminate();
  }
}
