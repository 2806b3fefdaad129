/** The lessons, in the order in which they build on each other. A lesson is one file and one line here. */

import type { Lesson } from "./lesson.js";
import { codel } from "./codel.js";
import { ecn } from "./ecn.js";
import { flowQueueing } from "./flow-queueing.js";
import { l4s } from "./l4s.js";
import { manyFlows } from "./many-flows.js";
import { pie } from "./pie.js";
import { red } from "./red.js";
import { tailDrop } from "./tail-drop.js";

export const LESSONS: readonly Lesson[] = [tailDrop, red, codel, manyFlows, pie, flowQueueing, ecn, l4s];
