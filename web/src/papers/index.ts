/** Published results. A result is an entry of a paper's file; a paper is one file and one line here. */

import claims from "virtual:claims";
import type { Case, Claim, Published } from "./case.js";
import { GAO2015 } from "./gao2015.js";
import { SCHWARZKOPF2016 } from "./schwarzkopf2016.js";

export const CASES: readonly Case[] = [...SCHWARZKOPF2016, ...GAO2015];

const byId = new Map<string, Claim>(claims.map(claim => [claim.id, claim]));

/** Published values of a case, from `claims.json`. */
export function published(id: string): Published[] {
  const found = CASES.find(known => known.id === id);
  if (!found) return [];
  return found.published.map(({ side, quantity, claim }) => {
    const known = byId.get(claim);
    if (!known) throw new Error(`${claim} is not in claims.json`);
    return { side, quantity, claim: known };
  });
}
