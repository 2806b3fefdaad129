import { digits } from "../base/quantity.js";
import { scenario, type Lesson } from "./lesson.js";

export const flowQueueing: Lesson = {
  id: "flow-queueing",
  title: "Flow queueing",
  scenario: scenario("flow queueing", {
    rate: "5 Mbit/s",
    aqm: "codel",
    count: 2,
    more: `
[[flows]]
kind = "voice"
off = "0 s"
rtt = "40 ms"
`,
  }),
  b: "fq_codel",
  text: [
    "A call sends a small packet every 25 ms. In a shared queue it waits behind the downloads and loses packets for them. " +
      "Flow queueing puts every flow into a queue of its own and serves these in turn; a flow that had nothing waiting is " +
      "new and goes first. The call never waits behind a download, without being marked as a call.",
    "In B's queue every row is a flow; the panel shows their deficits, the bytes that each may still send in its turn.",
    "The quality of a call is given as a mean opinion score: above 4 is good, below 3 most people complain, below 2 nobody " +
      "goes on talking.",
  ],
  question: "Add downloads until the call in A has a mean opinion score below 2, while B's is still above 4.",
  control: { key: "flows.0.count" },
  judge(a, b) {
    const [inA, inB] = [a.mos ?? NaN, b.mos ?? NaN];
    const feedback = `With ${a.downloads} downloads the call has ${digits(inA, 3)} in A and ${digits(inB, 3)} in B.`;
    return { right: a.aqm === "codel" && b.aqm === "fq_codel" && inA < 2 && inB > 4, feedback };
  },
  after:
    "It is mostly the loss that ruins the call in A: CoDel drops whatever packet is at the head, and cannot know that it is " +
    "not the call that fills the queue.",
};
