/** A guided lesson: a scenario, an explanation, and a question answered by moving a slider. */

import type { Json } from "../model/doc.js";
import type { Side, State } from "../model/state.js";

/** Statistics of a side's run after the warm-up. Times in ms. */
export interface RunStats {
  /** Name of the queue manager, without profile and parameters. */
  aqm: string;
  p50: number;
  p95: number;
  p99: number;
  utilisation: number;
  drops: number;
  marks: number;
  /** Mean opinion score of the calls; null without calls. */
  mos: number | null;
  /** Goodput in Mbit/s and congestion control of each long-lived flow. */
  flows: { cc: string; mbps: number }[];
  /** Number of TCP flows. */
  downloads: number;
}

export interface Answer {
  right: boolean;
  /** One sentence with the numbers of the runs. */
  feedback: string;
}

export interface Lesson {
  id: string;
  title: string;
  scenario: string;
  b: Json;
  start?: Partial<State>;
  /** One entry per paragraph. */
  text: string[];
  question: string;
  /** The control that answers it: a key of the scenario, or a parameter of a side's queue manager. */
  control: { key: string } | { side: Side; param: string };
  /** Judges the two runs. */
  judge(a: RunStats, b: RunStats): Answer;
  /** RunStats once the answer is right. */
  after: string;
}

/** Scenario text; by default four downloads over 10 Mbit/s. */
export function scenario(
  name: string,
  {
    rate = "10 Mbit/s",
    aqm = "droptail",
    limit = "1000 packets",
    count = 4,
    rtt = "40 ms",
    ecn = false,
    more = "",
  }: { rate?: string; aqm?: string; limit?: string; count?: number; rtt?: string; ecn?: boolean; more?: string },
): string {
  return `name = "${name}"
duration = "30 s"
warmup = "5 s"

[link]
rate = "${rate}"
aqm = "${aqm}"
limit = "${limit}"

[[flows]]
kind = "tcp"
count = ${count}
rtt = "${rtt}"
spread = "1 s"
${ecn ? "ecn = true\n" : ""}${more}`;
}
