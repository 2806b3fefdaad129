/** A second run of a job, for snapshots at the playhead: it advances by events and goes back by checkpoints. */

import type { Checkpoint, Core, Run } from "../core/core.js";
import type { Job, QueueSnapshot } from "./protocol.js";

/** Number of checkpoints per run. */
const CHECKPOINTS = 12;

export class SnapshotRun {
  private run: Promise<Run> | null = null;
  private readonly checkpoints: Checkpoint[] = [];
  /** Serialises requests. */
  private before: Promise<unknown> = Promise.resolve();
  private closed = false;

  constructor(
    private readonly core: Core,
    private readonly job: Job,
  ) {}

  /** Snapshot at a time; null if the job is closed. */
  at(at_ns: number): Promise<QueueSnapshot | null> {
    const snapshot = this.before.then(() => this.go(at_ns));
    this.before = snapshot.catch(() => null);
    return snapshot;
  }

  private async go(at_ns: number): Promise<QueueSnapshot | null> {
    this.run ??= this.open();
    const run = await this.run;
    if (this.closed) return null;
    if (run.now_ns > at_ns) {
      const earlier = this.checkpoints.filter(checkpoint => checkpoint.now_ns <= at_ns);
      run.restore(earlier[earlier.length - 1] ?? this.checkpoints[0]!);
    }
    const step = Math.ceil(run.duration_ns / CHECKPOINTS);
    while (run.now_ns < at_ns && !run.finished) {
      const mark = (Math.floor(run.now_ns / step) + 1) * step;
      run.advance(Math.min(mark, at_ns));
      const last = this.checkpoints[this.checkpoints.length - 1]!;
      if (run.now_ns >= last.now_ns + step * 0.9 && !run.finished) this.checkpoints.push(run.checkpoint());
    }
    return { at_ns: run.now_ns, link: run.view().links[0]! };
  }

  private async open(): Promise<Run> {
    const { text, changes, files, replay, payload } = this.job;
    if (payload) return this.mark(await this.core.playback(payload));
    const edited = changes.length ? this.core.edit(text, changes, { files }) : text;
    const run = replay
      ? await this.core.replay(await this.core.record(edited, { files }), replay.aqm, replay.limit ?? undefined)
      : await this.core.open(edited, { files });
    return this.mark(run);
  }

  /** Adds the start as the first checkpoint. */
  private mark(run: Run): Run {
    this.checkpoints.push(run.checkpoint());
    return run;
  }

  close(): void {
    this.closed = true;
    void this.run?.then(run => run.close());
  }
}
