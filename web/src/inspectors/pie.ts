import { inMs, inPercent, sojournLine, type Line, type Inspector, type InspectorInput } from "./inspector.js";

/** PIE: the drop probability and the two terms of its last update. */
export const pie: Inspector = {
  matches: ({ state, name }) => "p" in state && "qdelay_old" in state && name !== "dualpi2",
  lines(input) {
    const { state } = input;
    const lines = [sojournLine(input), probability("p", state["p"] ?? 0), ...terms(input)];
    const burst = state["burst_allowance"] ?? 0;
    if ("burst_allowance" in state)
      lines.push({
        name: "burst_allowance",
        value: inMs(burst),
        note: burst > 0 ? "nothing is dropped until it is used up" : "used up",
      });
    if ("accu_prob" in state)
      lines.push({
        name: "accu_prob",
        value: (state["accu_prob"] ?? 0).toFixed(2),
        note: "below 0.85 no packet is dropped",
      });
    return lines;
  },
};

export function probability(name: string, p: number, note = "of arriving packets"): Line {
  return { name, value: inPercent(p), note, bar: { share: Math.min(1, p * 4), tone: p > 0 ? "act" : "calm" } };
}

/** Integral and proportional terms of a PI controller at its last update. */
export function terms({ state, value }: InspectorInput): Line[] {
  const [now, old] = [state["qdelay"] ?? 0, state["qdelay_old"] ?? 0];
  const [alpha, beta, target] = [value("alpha"), value("beta"), value("target")];
  if (![alpha, beta, target].every(Number.isFinite)) return [];
  const signed = (x: number): string => `${x < 0 ? "−" : "+"}${inPercent(Math.abs(x))}`;
  return [
    {
      name: "α · (delay − target)",
      value: signed(alpha * (now - target)),
      note: `delay ${inMs(now)}, target ${inMs(target)}`,
    },
    {
      name: "β · (delay − old)",
      value: signed(beta * (now - old)),
      note: `delay before ${inMs(old)}; both are damped while p is small`,
    },
  ];
}
