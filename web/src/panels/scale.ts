/** How long the queues are drawn: one scale for both sides unless each has its own, and where the buffer ends. */

import { aqmAt } from "../app/edit.js";
import type { Session } from "../app/session.js";
import { parseQuantity } from "../base/quantity.js";
import { parseAqm, valueOf } from "../model/aqm.js";
import { linkPath, SIDES, valueAt, type Side } from "../model/state.js";
import type { SideRun } from "../sim/run.js";

/** A wait that does not fit makes the queue wider for so long before and after it. */
const AROUND_NS = 1e9;
/** Bytes of a full packet, unless the link says otherwise. */
const MTU = "1500 B";

/** Target of a side's queue manager at the playhead, in ms; null where it has none. */
export function targetMs({ state, registry }: Session, side: Side): number | null {
  const aqm = parseAqm(aqmAt(state, side), registry);
  const ns = parseQuantity(aqm ? valueOf(aqm, "target", registry) : "", "time");
  return ns ? ns / 1e6 : null;
}

/** Backlog in ms that the width of a side's queue stands for, so that A's and B's can be compared. */
export function spanMs(session: Session, side: Side): number {
  const sides = session.state.scales === "own" ? [side] : SIDES;
  return Math.max(...sides.map(one => ownSpanMs(session, one)));
}

const usual = new WeakMap<SideRun, number>();

/** The same for the whole run, so that different instants can be compared; more around what does not fit. */
function ownSpanMs(session: Session, side: Side): number {
  const run = session.runs[side];
  if (!run) return 0;
  let span = usual.get(run);
  if (span === undefined) {
    span = roundSpan(Math.max(run.sojournQuantile(0.99) || 0, 2 * (targetMs(session, side) ?? 0), 8));
    usual.set(run, span);
  }
  const { at_ns } = session.state;
  const [first, last] = run.index.ended(at_ns - AROUND_NS, at_ns + AROUND_NS);
  let most = span;
  for (let row = first; row < last; row++) most = Math.max(most, run.packets.sojourn[row]! / 1e6);
  return most > span ? roundSpan(most) : most;
}

/** A round width of the queue, in ms of backlog, in which the longest wait finds room. */
export function roundSpan(longest_ms: number): number {
  const steps = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000];
  return steps.find(step => step >= longest_ms * 1.05) ?? 50_000;
}

/**
 * Backlog in ms at which a side's buffer is full at the playhead: of packets full ones, at the link's rate; of several
 * limits the least. Null where there is none.
 */
export function bufferMs({ state }: Session, side: Side, rate_bps: number): number | null {
  const path = linkPath(state.doc);
  const limits = valueAt(state, side, `${path}.limit`, state.at_ns) ?? "1000 packets";
  const mtu = parseQuantity(String(valueAt(state, side, `${path}.mtu`, state.at_ns) ?? MTU), "bytes") ?? 1500;
  const known = (Array.isArray(limits) ? limits : [limits]).flatMap((limit): number[] => {
    const text = String(limit);
    const packets = parseQuantity(text, "packets");
    if (packets !== null) return [(packets * mtu * 8e3) / rate_bps];
    const bytes = parseQuantity(text, "bytes");
    if (bytes !== null) return [(bytes * 8e3) / rate_bps];
    const time_ns = parseQuantity(text, "time");
    return time_ns === null ? [] : [time_ns / 1e6];
  });
  return known.length ? Math.min(...known) : null;
}
