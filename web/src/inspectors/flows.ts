import { law } from "./codel.js";
import type { Line, Inspector } from "./inspector.js";

/** Flow queueing: the scheduler's lists, and the state of the flow served last. The table of parts lists each flow. */
export const flows: Inspector = {
  matches: ({ state }) => "new_flows" in state && "old_flows" in state,
  lines(input) {
    const { state, param } = input;
    const lists: Line = {
      name: "flows in turn",
      value: `${state["new_flows"]} new, ${state["old_flows"]} old`,
      note: `new flows go first; a turn is ${param("quantum")}`,
    };
    const inner = "first_above_time" in state ? law(input) : [];
    return [lists, ...inner.map(line => ({ ...line, name: `${line.name} (flow served last)` }))];
  },
};
