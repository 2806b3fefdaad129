import { inMs, inPercent, type Inspector } from "./inspector.js";
import { probability, terms } from "./pie.js";

/** DualPI2: the base probability and the resulting probabilities of the two queues. */
export const dualpi2: Inspector = {
  matches: ({ state }) => "p_cl" in state,
  lines(input) {
    const { state, value } = input;
    const { p = 0, p_c = 0, p_cl = 0, l_packets = 0, c_packets = 0 } = state;
    return [
      {
        name: "queues",
        value: `L ${l_packets}, C ${c_packets} packets`,
        note: `L marks by itself above ${inMs(value("step_thresh"))}`,
      },
      probability("p′", p, "of the controller, by the classic queue's delay"),
      {
        name: "p_C = p′²",
        value: inPercent(p_c),
        note: "drops, or marks, of classic packets",
        bar: { share: Math.min(1, p_c * 4), tone: "act" },
      },
      {
        name: "p_CL = k · p′",
        value: inPercent(p_cl),
        note: `marks of L4S packets, k = ${input.param("coupling_factor")}`,
        bar: { share: Math.min(1, p_cl), tone: "act" },
      },
      ...terms(input),
    ];
  },
};
