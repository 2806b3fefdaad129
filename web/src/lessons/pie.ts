import { digits } from "../base/quantity.js";
import { scenario, type Lesson } from "./lesson.js";

export const pie: Lesson = {
  id: "pie",
  title: "PIE, a controller",
  scenario: scenario("PIE, a controller", { aqm: "pie" }),
  b: "codel",
  text: [
    "PIE drops each arriving packet with a probability p, and moves p every 15 ms: by alpha times how far the delay is " +
      "from target, and by beta times how much it has changed. The first term brings the delay to the target, the second " +
      "one damps it.",
    "The panel shows both terms. When delay is above target and rising, both push p up; when it falls, the second one " +
      "holds against the first.",
    "The two targets do not mean the same: PIE steers the average delay to its target of 15 ms, CoDel wants the least delay " +
      "within an interval below its 5 ms.",
  ],
  question: "Move A's target until both queues have the same median sojourn time, to 20 %.",
  control: { side: "a", param: "target" },
  judge(a, b) {
    const feedback = `A's median is ${digits(a.p50, 3)} ms, B's ${digits(b.p50, 3)} ms.`;
    const near = Math.abs(a.p50 - b.p50) <= 0.2 * b.p50;
    return { right: a.aqm === "pie" && b.aqm === "codel" && near, feedback };
  },
  after:
    "At the same median, compare the distributions: CoDel's and PIE's upper quantiles and utilisation differ little here. " +
    "The difference is in how they get there, and in what they do when the load changes.",
};
