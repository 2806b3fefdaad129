/** Gao et al. 2015: the run of `sojourn reproduce gao2015` whose rate changes every 50 s. */

import type { Case } from "./case.js";

const RATES = "100 Mbit/s@0s,10 Mbit/s@50s,1 Mbit/s@100s,50 Mbit/s@150s,1 Mbit/s@200s,100 Mbit/s@250s";

const SENDER = `cc = "newreno"
stack = "ns2"
sack = false
mss = "1460 B"
initial_window = 4
receive_window = "19466180 B"
rtt = "100 ms"
access_rate = "1 Gbit/s"
`;

export const GAO2015: readonly Case[] = [
  {
    id: "gao-fig12",
    paper: "Gao, Bhattarai, Arsan, Wang and Wu 2015",
    key: "gao2015",
    title: "Figure 12: a rate that falls to 1 Mbit/s",
    text:
      "Four downloads and five web connections a second over a rate that changes every 50 s. When it falls from 50 to " +
      "1 Mbit/s, CoDel needs seconds to work off what waits. The authors' hard limit drops whatever has waited for " +
      "50 ms. Here the reverse path has tail drop in both.",
    scenario: `name = "gao2015, rate in steps"
duration = "300 s"

[link]
rate = "${RATES}"
change = "latch"
delay = "40 ms"
aqm = "codel@ns2-patch"
limit = "1000 packets"

[reverse]
rate = "${RATES}"
change = "latch"
delay = "40 ms"

[[flows]]
kind = "tcp"
count = 4
${SENDER}
[[flows]]
kind = "packmime"
connections_per_second = 5
${SENDER}`,
    b: "codel@hardlimit-ns2",
    published: [
      { side: "a", quantity: "max200", claim: "S1-F12-CoDel" },
      { side: "b", quantity: "max", claim: "S1-F12-HL" },
    ],
  },
];
