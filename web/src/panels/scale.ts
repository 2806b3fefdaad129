/** Scale of the queue drawings, shared by both sides unless set otherwise, and position of the buffer's end. */

import { aqmAt } from "../app/edit.js";
import type { Session } from "../app/session.js";
import { parseQuantity } from "../base/quantity.js";
import { parseAqm, valueOf } from "../model/aqm.js";
import { linkPath, SIDES, valueAt, type Side } from "../model/state.js";
import type { SideRun } from "../sim/run.js";

/** Time before and after a longer wait during which the scale is widened. */
const MARGIN_NS = 1e9;
/** Default MTU of a link. */
const MTU = "1500 B";

/** Target of a side's queue manager at the playhead, in ms; null if it has none. */
export function targetMs({ state, registry }: Session, side: Side): number | null {
  const aqm = parseAqm(aqmAt(state, side), registry);
  const ns = parseQuantity(aqm ? valueOf(aqm, "target", registry) : "", "time");
  return ns ? ns / 1e6 : null;
}

/** Backlog in ms represented by the width of a side's queue, equal for A and B unless set otherwise. */
export function spanMs(session: Session, side: Side): number {
  const sides = session.state.scales === "own" ? [side] : SIDES;
  return Math.max(...sides.map(one => ownSpanMs(session, one)));
}

const spans = new WeakMap<SideRun, number>();

/** One width for the whole run, so that times can be compared; wider around longer waits. */
function ownSpanMs(session: Session, side: Side): number {
  const run = session.runs[side];
  if (!run) return 0;
  let span = spans.get(run);
  if (span === undefined) {
    span = roundSpan(Math.max(run.sojournQuantile(0.99) || 0, 2 * (targetMs(session, side) ?? 0), 8));
    spans.set(run, span);
  }
  const { at_ns } = session.state;
  const [first, last] = run.index.ended(at_ns - MARGIN_NS, at_ns + MARGIN_NS);
  let most = span;
  for (let row = first; row < last; row++) most = Math.max(most, run.packets.sojourn[row]! / 1e6);
  return most > span ? roundSpan(most) : most;
}

/** Smallest round width in ms of backlog that fits the longest wait. */
export function roundSpan(longest_ms: number): number {
  const steps = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000];
  return steps.find(step => step >= longest_ms * 1.05) ?? 50_000;
}

/**
 * Backlog in ms at which a side's buffer is full at the playhead, at the link's rate and with full-sized packets; the
 * minimum of several limits. Null if there is no limit.
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
