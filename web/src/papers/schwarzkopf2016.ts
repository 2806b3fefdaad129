/** Schwarzkopf et al. 2016: the set-up of `sojourn reproduce schwarzkopf2016`. */

import type { Case } from "./case.js";

const scenario = (aqm: string, flows: number): string => `name = "schwarzkopf2016, ${flows} flows"
duration = "100 s"
warmup = "10 s"

[link]
rate = "10 Mbit/s"
delay = "5 ms"
overhead = "7 B"
aqm = "${aqm}"
limit = "250 kB"

[reverse]
rate = "10 Mbit/s"
overhead = "7 B"
aqm = "droptail"
limit = "250 kB"

[[flows]]
kind = "tcp"
count = ${flows}
cc = "newreno"
stack = "linux-2.6.29"
spread = "1 s"
access_rate = "1 Gbit/s"
access_delay = "0.1 ms"
`;

const paper = "Schwarzkopf, Zander et al. 2016";
const key = "schwarzkopf2016";

const table1 = (flows: number, other: "PIE" | "CoDel-ACT"): Case => ({
  id: `table1-${flows}-${other.toLowerCase()}`,
  paper,
  key,
  title: `Table I: CoDel and ${other}, ${flows} flows`,
  text:
    other === "PIE"
      ? "CoDel's delay grows with the number of flows, PIE stays at its target of 15 ms whatever the load is."
      : "ACT starts CoDel's next dropping phase from what it has learned of the load, so that more flows cost less delay.",
  scenario: scenario("codel@draft00", flows),
  b: other === "PIE" ? "pie@draft00" : "codel@act",
  published: [
    { side: "a", quantity: "mean", claim: `S0-T1-CoDel-${flows}-mean` },
    { side: "a", quantity: "p99", claim: `S0-T1-CoDel-${flows}-q99` },
    { side: "b", quantity: "mean", claim: `S0-T1-${other}-${flows}-mean` },
    { side: "b", quantity: "p99", claim: `S0-T1-${other}-${flows}-q99` },
  ],
});

export const SCHWARZKOPF2016: readonly Case[] = [
  table1(4, "PIE"),
  table1(16, "CoDel-ACT"),
  table1(64, "PIE"),
  table1(64, "CoDel-ACT"),
  {
    id: "fig4-4",
    paper,
    key,
    title: "Figure 4: count over time, 4 flows",
    text:
      "In the draft of 2012, CoDel's count grows without end under a steady load, because each phase begins where the " +
      "one before it ended. ACT's count settles.",
    scenario: scenario("codel@draft00", 4),
    b: "codel@act",
    published: [
      { side: "a", quantity: "count50", claim: "S0-F4-CoDel-4-count50" },
      { side: "b", quantity: "count", claim: "S0-F4-ACT-4-count" },
    ],
  },
];
