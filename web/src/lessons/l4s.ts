import { digits } from "../base/quantity.js";
import { scenario, type Lesson } from "./lesson.js";

const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

export const l4s: Lesson = {
  id: "l4s",
  title: "L4S: two coupled queues",
  scenario: scenario("L4S", {
    rate: "40 Mbit/s",
    aqm: "dualpi2 coupling_factor 0.5",
    count: 2,
    more: `
[[flows]]
kind = "tcp"
cc = "prague"
count = 2
rtt = "40 ms"
spread = "1 s"
`,
  }),
  b: "fq_codel",
  text: [
    "TCP Prague reacts to how many of its packets are marked, not to whether one is. It can be marked often and early, and " +
      "its queue stays below a millisecond. In one queue with CUBIC it would take everything, since CUBIC halves at every " +
      "mark.",
    "DualPI2 has two queues: L (ECT(1), Prague) and C (the others). One controller gives a p' from the classic queue's " +
      "delay; classic packets are dropped with p'², L4S packets are marked with k·p'. The coupling factor k makes both " +
      "kinds of flow slow down together.",
    "Here k is 0.5: the marks are too few, and Prague takes most of the link.",
  ],
  question: "Move A's coupling_factor until a CUBIC flow and a Prague flow get the same goodput, to 25 %.",
  control: { side: "a", param: "coupling_factor" },
  judge(a) {
    const of = (cc: (name: string) => boolean): number =>
      mean(a.flows.filter(flow => cc(flow.cc)).map(flow => flow.mbps));
    const [prague, cubic] = [of(cc => cc.startsWith("prague")), of(cc => cc.startsWith("cubic"))];
    const feedback = `In A a CUBIC flow gets ${digits(cubic, 3)} Mbit/s, a Prague flow ${digits(prague, 3)} Mbit/s.`;
    const ratio = Math.min(prague, cubic) / Math.max(prague, cubic);
    return { right: a.aqm === "dualpi2" && ratio >= 0.75, feedback };
  },
  after:
    "RFC 9332 recommends k = 2, which is right where both kinds have the same round-trip time. CUBIC's packets also wait " +
    "15 ms in the classic queue, so at an RTT of 40 ms it needs somewhat more help.",
};
