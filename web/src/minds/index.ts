/** What the page knows of queue managers' minds. One is a file and a line here; the others show their state by name. */

import { digits } from "../base/quantity.js";
import { codel } from "./codel.js";
import { dualpi2 } from "./dualpi2.js";
import { flows } from "./flows.js";
import { sojournLine, type Line, type Mind, type MindInput } from "./mind.js";
import { pie } from "./pie.js";
import { red } from "./red.js";

const MINDS: readonly Mind[] = [dualpi2, flows, codel, pie, red];

export function mind(input: MindInput): Line[] {
  const known = MINDS.find(candidate => candidate.knows(input));
  if (known) return known.lines(input);
  const waiting: Line = { name: "waiting", value: `${input.backlog_packets} packets` };
  const state = Object.entries(input.state).map(([name, value]) => ({ name, value: digits(value, 4) }));
  return [sojournLine(input), waiting, ...state];
}
