import { digits } from "../base/quantity.js";
import { scenario, type Lesson } from "./lesson.js";

export const ecn: Lesson = {
  id: "ecn",
  title: "ECN: marks instead of drops",
  scenario: scenario("ECN", { aqm: "codel", ecn: true }),
  b: "codel ecn",
  text: [
    "A drop is a costly way to say “slower”. With Explicit Congestion Notification the queue manager marks the packet " +
      "(CE) instead; the receiver echoes the mark, and the sender reacts as to a loss, but nothing has to be sent again.",
    "All four senders here speak ECN. A's CoDel does not mark and drops; B's marks. Marked packets have a notch on the link.",
    "As nothing is lost, B can afford to tell its senders sooner.",
  ],
  question:
    "Move B's target until 95 % of its packets wait at least 1.5 ms less than A's, still without a single drop.",
  control: { side: "b", param: "target" },
  judge(a, b) {
    const feedback = `95 % of the packets wait less than ${digits(a.p95, 3)} ms in A and ${digits(b.p95, 3)} ms in B, which has dropped ${b.drops} and marked ${b.marks}.`;
    const same = a.aqm === "codel" && b.aqm === "codel";
    return { right: same && b.drops === 0 && b.marks > 0 && b.p95 <= a.p95 - 1.5, feedback };
  },
  after:
    "To such a sender a mark still means “halve”, so the gain is small. To gain more, senders have to react to marks in " +
    "proportion: that is L4S, the next lesson.",
};
