import { digits } from "../base/quantity.js";
import { scenario, type Lesson } from "./lesson.js";

export const tailDrop: Lesson = {
  id: "tail-drop",
  title: "Tail drop's standing queue",
  scenario: scenario("tail drop's standing queue", { limit: "500 packets" }),
  b: "codel",
  text: [
    "TCP sends more until a packet is lost. A queue without a manager loses none before it is full. So every download " +
      "fills the buffer, whatever its size, and keeps it full: the queue stands. It carries nothing, it only delays.",
    "Queue A drops at its tail. QueueSnapshot at its sojourn time: 500 packets of 1.2 ms each are 600 ms that everybody waits. " +
      "B has CoDel in front of the same buffer.",
    "The link is busy as long as the queue does not run dry. For that, about one bandwidth-delay product is enough: " +
      "10 Mbit/s times 40 ms, which is 33 packets.",
  ],
  question:
    "Move the buffer until 95 % of A's packets wait less than 40 ms, while the link is still busy for 99 % of the time.",
  control: { key: "link.limit" },
  judge(a) {
    const feedback = `95 % of A's packets wait less than ${digits(a.p95, 3)} ms; the link is busy for ${digits(a.utilisation * 100, 4)} % of the time.`;
    return { right: a.aqm === "droptail" && a.p95 < 40 && a.utilisation >= 0.99, feedback };
  },
  after:
    "A small buffer is a good queue manager for this link and these round-trip times. With another rate, RTT or number " +
    "of flows it is the wrong one, and these are not known in advance. Try RTT 200 ms.",
};
