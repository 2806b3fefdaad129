/** A side's worker as the page sees it: the newest job wins. */

import workerSource from "virtual:worker";
import type { Edit, Registry } from "../core/core.js";
import type { Job, Look, Outcome, Reason, Reply, Request } from "./protocol.js";

export interface Listener {
  progress(share: number): void;
  done(outcome: Outcome): void;
  /** What the user wrote is wrong, or the simulator failed. */
  refused(message: string): void;
  look(look: Look, reason: Reason): void;
}

let address: string | null = null;

export class Client {
  private readonly worker: Worker;
  private id = 0;
  /** Whether a question about the playhead is open, and where the playhead has gone meanwhile. */
  private looking = false;
  private wanted: number | null = null;
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
      } else if (data.is === "look") {
        if (data.id !== this.id) return;
        listener.look(data.look, data.reason);
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
    this.looking = false;
    this.wanted = null;
    this.post({ do: "run", id: ++this.id, job });
  }

  /** Asks for the queue at the playhead. While a question is open, the last instant that was asked for is kept. */
  look(at_ns: number): void {
    if (this.looking) {
      this.wanted = at_ns;
      return;
    }
    this.looking = true;
    this.post({ do: "look", id: this.id, at_ns, reason: "playhead" });
  }

  private next(): void {
    this.looking = false;
    const { wanted } = this;
    this.wanted = null;
    if (wanted !== null) this.look(wanted);
  }

  /** Asks for the queue just before a packet was judged. */
  lookAtPacket(at_ns: number): void {
    this.post({ do: "look", id: this.id, at_ns, reason: "packet" });
  }

  /** A text with edits; null where they cannot be made in it. */
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
