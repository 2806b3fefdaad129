/** Inspectors of queue managers' state: one file and one line here each; other managers have a list of variables. */

import { digits } from "../base/quantity.js";
import { codel } from "./codel.js";
import { dualpi2 } from "./dualpi2.js";
import { flows } from "./flows.js";
import { sojournLine, type Line, type Inspector, type InspectorInput } from "./inspector.js";
import { pie } from "./pie.js";
import { red } from "./red.js";

const INSPECTORS: readonly Inspector[] = [dualpi2, flows, codel, pie, red];

export function inspect(input: InspectorInput): Line[] {
  const known = INSPECTORS.find(candidate => candidate.matches(input));
  if (known) return known.lines(input);
  const waiting: Line = { name: "waiting", value: `${input.backlog_packets} packets` };
  const state = Object.entries(input.state).map(([name, value]) => ({ name, value: digits(value, 4) }));
  return [sojournLine(input), waiting, ...state];
}
