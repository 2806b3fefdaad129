/** A guided lesson: a scenario, what is to be seen in it, and a question that a slider answers. */

import type { Json } from "../model/doc.js";
import type { Side, State } from "../model/state.js";

/** What a side's run shows, in numbers. Times in ms, after the warm-up. */
export interface Shown {
  /** Name of the queue manager, without profile and parameters. */
  aqm: string;
  p50: number;
  p95: number;
  p99: number;
  utilisation: number;
  drops: number;
  marks: number;
  /** Mean opinion score of the calls; null without one. */
  mos: number | null;
  /** Goodput in Mbit/s of each flow that lasts, with its congestion control. */
  flows: { cc: string; mbps: number }[];
  /** TCP flows in all. */
  downloads: number;
}

export interface Answer {
  right: boolean;
  /** What the simulation shows now, in a sentence with its numbers. */
  says: string;
}

export interface Lesson {
  id: string;
  title: string;
  scenario: string;
  b: Json;
  start?: Partial<State>;
  /** Paragraphs. */
  text: string[];
  question: string;
  /** Which control answers it: a key of the scenario, or a parameter of a side's queue manager. */
  control: { key: string } | { side: Side; param: string };
  /** Judges what the two runs show. */
  judge(a: Shown, b: Shown): Answer;
  /** Shown once the answer is right. */
  after: string;
}

/** Four downloads over 10 Mbit/s, or what is asked for. */
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
