import { digits } from "../base/quantity.js";
import { scenario, type Lesson } from "./lesson.js";

export const codel: Lesson = {
  id: "codel",
  title: "CoDel's control law",
  scenario: scenario("CoDel's control law", { aqm: "codel", count: 1, rtt: "200 ms" }),
  b: "codel",
  start: { at_ns: 1.16e9, speed: 0.1 },
  text: [
    "CoDel measures time, not bytes. When every packet for an interval (100 ms) has waited longer than target (5 ms), the " +
      "queue stands. CoDel drops one packet, and the next ones after interval / √count: 100, 71, 58 ms, ever faster, " +
      "until the sojourn time falls below target.",
    "Watch the panel of the queue manager: first_above_time runs down, dropping switches on, count grows, and the " +
      "countdown to the next drop gets shorter.",
    "The interval is the time that senders get to react: a round-trip time. Here it is 200 ms, twice the interval, so " +
      "CoDel takes the burst of a single healthy flow for a standing queue.",
  ],
  question: "Move B's interval until its link is busy for 2 percentage points more of the time than A's.",
  control: { side: "b", param: "interval" },
  judge(a, b) {
    const more = (b.utilisation - a.utilisation) * 100;
    const feedback = `A's link is busy for ${digits(a.utilisation * 100, 3)} %, B's for ${digits(b.utilisation * 100, 3)} % of the time; 95 % of B's packets wait less than ${digits(b.p95, 3)} ms.`;
    return { right: a.aqm === "codel" && b.aqm === "codel" && more >= 2, feedback };
  },
  after:
    "A longer interval bears more with bursts, and reacts later when the queue really stands: B's 95 % quantile has grown. " +
    "100 ms is the compromise that fits most of the Internet.",
};
