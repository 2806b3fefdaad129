/** Scenario documents: nested tables, read and changed by dotted path, compared key by key. */

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type Doc = { [key: string]: Json };

const isTable = (value: Json | undefined): value is { [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Value at a path, e.g. `flows.0.rtt`. */
export function get(doc: Json, path: string): Json | undefined {
  let at: Json | undefined = doc;
  for (const key of path.split(".")) {
    if (Array.isArray(at)) at = at[Number(key)];
    else if (isTable(at)) at = at[key];
    else return undefined;
  }
  return at;
}

/** Copy of the document with another value at a path; `undefined` removes the key. All else is shared. */
export function set<T extends Json>(doc: T, path: string, value: Json | undefined): T {
  const [key = "", ...rest] = path.split(".");
  if (Array.isArray(doc)) {
    const copy = [...doc];
    const index = Number(key);
    if (rest.length) copy[index] = set(copy[index] ?? {}, rest.join("."), value);
    else if (value === undefined) copy.splice(index, 1);
    else copy[index] = value;
    return copy as unknown as T;
  }
  const copy: Doc = isTable(doc) ? { ...doc } : {};
  if (rest.length) copy[key] = set(copy[key] ?? {}, rest.join("."), value);
  else if (value === undefined) delete copy[key];
  else copy[key] = value;
  return copy as unknown as T;
}

/** All leaves by path; an empty table or list is a leaf. */
export function flatten(value: Json, prefix = "", into = new Map<string, Json>()): Map<string, Json> {
  const entries: [string, Json][] = Array.isArray(value)
    ? value.map((item, i) => [String(i), item])
    : isTable(value)
      ? Object.entries(value)
      : [];
  if (!entries.length) {
    if (prefix) into.set(prefix, value);
    return into;
  }
  for (const [key, item] of entries) flatten(item, prefix ? `${prefix}.${key}` : key, into);
  return into;
}

/** Document with these leaves; a table with keys 0, 1, 2, … becomes a list. */
export function unflatten(leaves: Map<string, Json>): Doc {
  const root: Doc = {};
  for (const [path, value] of leaves) {
    const keys = path.split(".");
    let at = root;
    for (const key of keys.slice(0, -1)) {
      if (!isTable(at[key])) at[key] = {};
      at = at[key] as Doc;
    }
    at[keys[keys.length - 1]!] = value;
  }
  const lists = (value: Json): Json => {
    if (!isTable(value)) return value;
    const keys = Object.keys(value);
    const isList = keys.length > 0 && keys.every(key => /^\d+$/.test(key));
    if (isList) return keys.sort((a, b) => Number(a) - Number(b)).map(key => lists(value[key]!));
    return Object.fromEntries(keys.map(key => [key, lists(value[key]!)]));
  };
  return Object.fromEntries(Object.entries(root).map(([key, value]) => [key, lists(value)]));
}

/** Leaves that turn `base` into `doc`: new values, and null for removed ones. */
export function difference(base: Doc, doc: Doc): [string, Json][] {
  const [before, after] = [flatten(base), flatten(doc)];
  const gone: [string, Json][] = [...before.keys()].filter(path => !after.has(path)).map(path => [path, null]);
  const changed = [...after].filter(([path, value]) => JSON.stringify(before.get(path)) !== JSON.stringify(value));
  return [...gone, ...changed];
}

/** The same as edits of a text, without removals below a value that is set anyway. */
export function edits(base: Doc, doc: Doc): { set: string; value: Json | null }[] {
  const all = difference(base, doc);
  const isReplaced = (path: string): boolean =>
    all.some(([other, value]) => value !== null && path.startsWith(`${other}.`));
  return all.filter(([path, value]) => value !== null || !isReplaced(path)).map(([set, value]) => ({ set, value }));
}

/** Applies a `difference` to `base`. */
export function apply(base: Doc, leaves: [string, Json][]): Doc {
  const all = flatten(base);
  for (const [path, value] of leaves) {
    if (value === null) all.delete(path);
    else all.set(path, value);
  }
  return unflatten(all);
}
