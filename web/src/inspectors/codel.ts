import { inMs, sojournLine, type Line, type Inspector, type InspectorInput } from "./inspector.js";

/** CoDel: time above target, and time of the next drop. */
export const codel: Inspector = {
  matches: ({ state }) => "first_above_time" in state && "drop_next" in state,
  lines(input) {
    return [sojournLine(input), ...law(input)];
  },
};

/** Control-law state, shared with flow queueing. */
export function law({ state, now, value }: InspectorInput): Line[] {
  const { first_above_time: above = 0, drop_next: next = 0, count = 0, lastcount = 0, dropping = 0 } = state;
  const interval = value("interval") || 0.1;
  const lines: Line[] = [];
  if (above === 0) lines.push({ name: "first_above_time", value: "0", note: "below target, or hardly a backlog" });
  else if (above > now) {
    const left = above - now;
    const bar = { share: Math.min(1, Math.max(0, 1 - left / interval)), tone: "warn" as const };
    lines.push({ name: "first_above_time", value: `in ${inMs(left)}`, note: "above target; then the first drop", bar });
  } else
    lines.push({ name: "first_above_time", value: `${inMs(now - above)} ago`, note: "above target for an interval" });
  lines.push({
    name: "dropping",
    value: dropping ? "yes" : "no",
    note: `count ${count}, at the last entry ${lastcount}`,
  });
  const step = interval / Math.sqrt(Math.max(1, count));
  if (dropping) {
    const left = next - now;
    const bar = { share: Math.min(1, Math.max(0, 1 - left / step)), tone: "act" as const };
    lines.push({
      name: "next drop",
      value: left > 0 ? `in ${inMs(left)}` : "due",
      note: `interval / √count = ${inMs(step)}`,
      bar,
    });
  } else lines.push({ name: "next drop", value: "none", note: "not dropping" });
  return lines;
}
