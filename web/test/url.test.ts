import assert from "node:assert/strict";
import { test } from "node:test";
import { set } from "../src/model/doc.js";
import { FIRST, PRESETS, presetState } from "../src/model/presets.js";
import { withChange, type State } from "../src/model/state.js";
import { decode, encode } from "../src/model/url.js";

const first = presetState(FIRST)!;
const there = (state: State): State => decode(encode(state, presetState), presetState, first);

test("every preset is decoded from its URL, which has only its name", () => {
  for (const { id } of PRESETS) {
    const state = presetState(id)!;
    assert.deepEqual(there(state), state, id);
    assert.ok(encode(state, presetState).length < 60, id);
  }
});

test("lessons and published results are decoded", () => {
  for (const id of ["lesson-codel", "paper-table1-4-pie"]) assert.deepEqual(there(presetState(id)!), presetState(id));
});

test("all changes are in the URL, in the syntax of the command line", () => {
  let state: State = { ...first, doc: set(first.doc, "link.rate", "3.7 Mbit/s"), b: "fq_codel target 7ms noecn" };
  assert.match(encode(state, presetState), /link\.rate=3\.7\+Mbit%2Fs/);
  state = { ...state, mode: "arrivals", at_ns: 12_345_678_901, speed: Infinity, zoom: [3.5, 7.25], paper: "fig4-4" };
  state = { ...state, doc: set(state.doc, "flows.1", undefined) };
  state = withChange(state, { at_ns: 5e9 + 1, side: "both", set: "link.rate", value: "2 Mbit/s" });
  state = withChange(state, { at_ns: 7e9, side: "b", set: "link.aqm", value: "pie target 3ms" });
  state = withChange(state, { at_ns: 9e9, side: "both", group: 0, count: 17 });
  assert.deepEqual(there(state), state);
});

test("texts that look like numbers, JSON literals or markup stay texts", () => {
  for (const name of [
    "17",
    "true",
    "null",
    '{"a": 1}',
    "<script>alert(1)</script>",
    "a&b=c#d+e %20",
    "ünïcödé 日本",
    '"',
    "",
  ]) {
    const state = { ...first, doc: set(first.doc, "name", name) };
    assert.deepEqual(there(state), state, name);
  }
});

test("an opened scenario is encoded completely in the URL", () => {
  const doc = {
    name: "日本 <b>",
    duration: "3 s",
    link: { rate: "1 Mbit/s" },
    flows: [{ kind: "cbr", rate: "2 Mbit/s" }],
  };
  const state: State = { ...first, base: "", doc, at_ns: 0 };
  assert.deepEqual(there(state), state);
});

test("a change with the same key, side and time replaces the earlier one", () => {
  const change = { at_ns: 5, side: "a", set: "link.aqm", value: "pie" } as const;
  const state = withChange(withChange(first, change), { ...change, value: "codel" });
  assert.deepEqual(state.changes, [{ ...change, value: "codel" }]);
  assert.equal(withChange(state, { ...change, side: "b" }).changes.length, 2);
});

test("invalid URLs give the first scenario", () => {
  for (const hash of ["", "#", "#base=nonsense", "#doc=%%%", "#doc=bm90IGpzb24", "#doc=W10"])
    assert.deepEqual(decode(hash, presetState, first), first, hash);
});

test("invalid parts of a URL are as in the preset", () => {
  const state = decode("#base=codel&mode=sideways&at=later&speed=-3&changes=[{}]", presetState, first);
  assert.deepEqual(state, presetState("codel"));
});
