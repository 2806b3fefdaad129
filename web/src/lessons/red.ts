import { digits } from "../base/quantity.js";
import { scenario, type Lesson } from "./lesson.js";

export const red: Lesson = {
  id: "red",
  title: "Why RED was hard to tune",
  scenario: scenario("why RED was hard to tune", {
    aqm: "red min 15kB max 45kB probability 0.1 avpkt 1500B",
    count: 32,
  }),
  b: "ared",
  text: [
    "RED drops at random before the buffer is full: never while the average queue is below its threshold min, with a " +
      "probability that rises to max_p (here: probability) at max, and more beyond.",
    "The probability that a number of flows needs follows from TCP, not from the queue: more flows need a higher one. " +
      "RED gives it only at a longer average queue. So its delay depends on the load. With four flows this setting has a " +
      "median of 15 ms. Now there are 32.",
    "B is Adaptive RED, which moves max_p by itself.",
  ],
  question: "Move A's probability until its median sojourn time is below 25 ms with these 32 downloads.",
  control: { side: "a", param: "probability" },
  judge(a) {
    const feedback = `A's median is ${digits(a.p50, 3)} ms with ${a.downloads} downloads.`;
    return { right: a.aqm === "red" && a.downloads >= 32 && a.p50 < 25, feedback };
  },
  after:
    "Now take the downloads back to four and look at A's sojourn time: what was right for 32 flows swings between empty " +
    "and full with 4. One setting does not fit both, which is why RED is seldom switched on.",
};
