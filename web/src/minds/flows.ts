import { law } from "./codel.js";
import type { Line, Mind } from "./mind.js";

/** Flow queueing: the lists, and the state of the flow served last. The table of parts shows each flow. */
export const flows: Mind = {
  knows: ({ state }) => "new_flows" in state && "old_flows" in state,
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
