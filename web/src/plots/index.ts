/** The plots of the page, in order. A plot is one file and one line here. */

import type { PlotKind } from "./input.js";
import { calls } from "./calls.js";
import { cdf } from "./cdf.js";
import { cwnd, goodput } from "./flows.js";
import { sojourn } from "./sojourn.js";
import { state } from "./state.js";
import { transfers } from "./transfers.js";

export const PLOTS: readonly PlotKind[] = [sojourn, cdf, goodput, cwnd, state, calls, transfers];
