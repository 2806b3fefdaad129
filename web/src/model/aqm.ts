/** Queue managers as spelled in scenarios: `codel@act target 5ms noecn`, or the same as a table. */

import type { Algorithm, Registry } from "../core/core.js";
import { compact } from "../base/quantity.js";
import type { Json } from "./doc.js";

export interface Aqm {
  name: string;
  /** Empty for the default profile. */
  profile: string;
  /** Parameters that are set; flags are "true" or "false". */
  params: Record<string, string>;
}

export const find = (registry: Registry, name: string): Algorithm | undefined =>
  registry.aqms.find(aqm => aqm.name === name);

/**
 * Parses a scenario's value. Null if the controls cannot represent it: a classful discipline (`tbf … { codel }`,
 * `fq(codel)`), or one in a file.
 */
export function parseAqm(value: Json | undefined, registry: Registry): Aqm | null {
  if (value === undefined) return { name: "droptail", profile: "", params: {} };
  if (typeof value === "string") return parseText(value, registry);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const { name, profile, ...rest } = value as Record<string, string>;
  const [plain = "", inName = ""] = String(name ?? "").split("@");
  const algorithm = find(registry, plain);
  if (!algorithm || !Object.keys(rest).every(key => isParam(algorithm, key))) return null;
  const params = Object.fromEntries(Object.entries(rest).map(([key, text]) => [key, compact(String(text))]));
  return { name: plain, profile: profile ?? inName, params };
}

const isParam = (algorithm: Algorithm, name: string): boolean =>
  name === "exclude_ce" || algorithm.params.some(param => param.name === name);

const isFlag = (algorithm: Algorithm, name: string): boolean =>
  name === "exclude_ce" || algorithm.params.some(param => param.name === name && param.kind === "flag");

function parseText(text: string, registry: Registry): Aqm | null {
  const [head = "", ...words] = text.trim().split(/\s+/);
  const [name = "", profile = ""] = head.split("@");
  const algorithm = find(registry, name);
  if (!algorithm) return null;
  const params: Record<string, string> = {};
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    const off = word.startsWith("no") ? word.slice(2) : "";
    if (isFlag(algorithm, word)) {
      const next = words[i + 1] ?? "";
      const isWord = /^(true|false|on|off|1|0)$/.test(next);
      params[word] = isWord ? String(/^(true|on|1)$/.test(next)) : "true";
      if (isWord) i++;
    } else if (off && isFlag(algorithm, off)) params[off] = "false";
    else if (isParam(algorithm, word) && i + 1 < words.length) {
      let value = words[++i]!;
      // A space may separate a unit from its number.
      if (/^[\d.]+$/.test(value) && /^[a-zA-Z]+(\/s)?$/.test(words[i + 1] ?? "") && !isParam(algorithm, words[i + 1]!))
        value += words[++i]!;
      params[word] = value;
    } else return null;
  }
  return { name, profile, params };
}

/** One-line text, as accepted by scenario files, `--aqm` and `aqm diff`. */
export function spell({ name, profile, params }: Aqm, registry: Registry): string {
  const algorithm = find(registry, name);
  const words = Object.entries(params).map(([param, value]) => {
    if (algorithm && isFlag(algorithm, param)) return value === "true" ? param : `no${param}`;
    return `${param} ${compact(value)}`;
  });
  return [profile ? `${name}@${profile}` : name, ...words].join(" ");
}

/** Effective value of a parameter: as set, else the profile's, else the default. */
export function valueOf(aqm: Aqm, param: string, registry: Registry): string {
  const algorithm = find(registry, aqm.name);
  const profile = algorithm?.profiles.find(known => known.name === aqm.profile) ?? algorithm?.profiles[0];
  const known = algorithm?.params.find(candidate => candidate.name === param);
  return aqm.params[param] ?? profile?.values[param] ?? known?.default ?? "";
}

/** Heading: name, profile and parameters that are set. */
export const title = (aqm: Aqm | null, value: Json | undefined, registry: Registry): string =>
  aqm ? spell(aqm, registry) : typeof value === "string" ? value : JSON.stringify(value ?? "droptail");
