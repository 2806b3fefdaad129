import { digits } from "../base/quantity.js";
import { scenario, type Lesson } from "./lesson.js";

export const manyFlows: Lesson = {
  id: "many-flows",
  title: "64 flows",
  scenario: scenario("64 flows", { aqm: "codel", count: 64 }),
  b: "pie",
  text: [
    "A drop slows one flow down. Of four flows that is a lot, of 64 hardly anything. So CoDel needs a high count to hold " +
      "64 flows, and the square root makes it climb slowly: to double the rate of drops, count has to become four times as " +
      "large.",
    "QueueSnapshot at A's sojourn time: far above the target of 5 ms, in waves, because count starts low again whenever the queue " +
      "has been short for a moment. PIE in B reaches the probability that 64 flows need and stays there.",
  ],
  question: "Take downloads away until A's median sojourn time is below 10 ms, twice its target. Leave at least two.",
  control: { key: "flows.0.count" },
  judge(a) {
    const feedback = `With ${a.downloads} downloads A's median is ${digits(a.p50, 3)} ms.`;
    return { right: a.aqm === "codel" && a.downloads >= 2 && a.p50 < 10, feedback };
  },
  after:
    "So target is where CoDel begins to act, not where the delay ends up. Flow queueing gets round this: it gives each " +
    "flow a CoDel of its own, which has to hold just one.",
};
