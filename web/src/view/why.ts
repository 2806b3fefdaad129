/** Explains the fate of a packet, with the numbers at that time. */

import { inMs, inPercent } from "../inspectors/inspector.js";
import type { InspectorInput } from "../inspectors/inspector.js";
import type { SideRun } from "../sim/run.js";
import { WAITING } from "../sim/protocol.js";

const ECN = ["not ECN-capable", "ECT(1)", "ECT(0)", "CE"];

/** Data of a packet, as names and values. */
export function facts(run: SideRun, row: number): [string, string][] {
  const { time, sojourn, flow, bytes, arrival, ecn, fate } = run.packets;
  const arrived = run.index.arrived(row);
  const left = fate[row] === WAITING ? "waits at the end of the run" : `${(time[row]! / 1e9).toFixed(6)} s`;
  return [
    ["packet", `number ${arrival[row]} of flow ${flow[row]}, ${bytes[row]} B, ${ECN[ecn[row]!] ?? ""}`],
    ["arrived", `${(arrived / 1e9).toFixed(6)} s`],
    [fate[row]! >= 2 ? "dropped" : "sent", left],
    ["waited", fate[row] === WAITING ? "–" : inMs(sojourn[row]! / 1e9)],
  ];
}

/** Explanation of a packet's fate. `before`: state just before the verdict; null until the snapshot is there. */
export function why(run: SideRun, row: number, before: InspectorInput | null): string {
  const { fate, sojourn } = run.packets;
  const waited = inMs(sojourn[row]! / 1e9);
  switch (fate[row]) {
    case 0:
      return `It was sent after ${waited}.`;
    case 1:
      return `It was sent with a congestion mark (CE) after ${waited}: its sender is told to slow down, and nothing is lost. ${judged(before, waited)}`;
    case 2:
      return `The buffer was full${before ? `: ${before.backlog_packets} packets were waiting` : ""}. The queue manager had no choice.`;
    case 3:
      return `The queue manager dropped it on arrival, before the buffer was full. ${judged(before, waited)}`;
    case 4:
      return `It had waited ${waited} and was dropped at the head of the queue, when its turn came. ${judged(before, waited)}`;
    case 5:
      return `It had waited ${waited}, longer than the queue manager allows at all.`;
    case 7:
      return "The queue manager was replaced by another one, and all that waited was dropped with it.";
    case WAITING:
      return "It still waits when the run ends.";
    default:
      return "Why it was dropped is not recorded.";
  }
}

function judged(before: InspectorInput | null, waited: string): string {
  if (!before) return "";
  const { state, value, now } = before;
  const { count, p, p_c, p_cl, avg, prob } = state;
  if ("first_above_time" in state) {
    const [target, interval] = [value("target"), value("interval")];
    if (!state["dropping"])
      return `Sojourn times had been above the target of ${inMs(target)} for a whole interval of ${inMs(interval)}, this one with ${waited}: CoDel begins to drop, and count starts.`;
    const step = interval / Math.sqrt(Math.max(1, count ?? 1));
    return `CoDel was dropping already, with count = ${count}: it drops every interval / √count = ${inMs(step)}, and the next one was due ${inMs(Math.max(0, now - (state["drop_next"] ?? now)))} before.`;
  }
  if (p_c !== undefined && p_cl !== undefined)
    return `The base probability p′ was ${inPercent(p ?? 0)}: classic packets are dropped or marked with p′² = ${inPercent(p_c)}, L4S packets marked with k·p′ = ${inPercent(p_cl)}.`;
  if (avg !== undefined)
    return `The average queue was ${avg.toFixed(1)}${prob === undefined ? "" : `, which gives a probability of ${inPercent(prob)}`}.`;
  if (p !== undefined)
    return `The drop probability p was ${inPercent(p)}; of the packets that arrive, that share is picked. The delay was ${inMs(state["qdelay"] ?? 0)} at the last update, the target is ${inMs(value("target"))}.`;
  return "";
}
