import { inPercent, type Line, type Inspector } from "./inspector.js";
import { digits } from "../base/quantity.js";

/** RED and its variants: the average queue between its thresholds. */
export const red: Inspector = {
  matches: ({ state }) => "avg" in state,
  lines({ state, value, param, backlog_packets }) {
    const { avg = 0, prob, max_p, count } = state;
    const [low, high] = [value("min"), value("max")];
    const known = high > 0;
    const line: Line = { name: "avg", value: digits(avg, 4), note: `now ${backlog_packets} packets wait` };
    if (known) {
      line.note = `min ${param("min")}, max ${param("max")}`;
      line.bar = {
        share: Math.min(1, avg / (1.5 * high)),
        mark: low / (1.5 * high),
        tone: avg > low ? "warn" : "calm",
      };
    }
    const lines = [line];
    if (prob !== undefined)
      lines.push({ name: "probability", value: inPercent(prob), bar: { share: Math.min(1, prob * 4), tone: "act" } });
    if (max_p !== undefined) lines.push({ name: "max_p", value: inPercent(max_p), note: "probability at max" });
    if (count !== undefined) lines.push({ name: "count", value: String(count), note: "packets since the last drop" });
    return lines;
  },
};
