import assert from "node:assert/strict";
import { test } from "node:test";
import { apply, difference, edits, flatten, get, set, unflatten, type Doc } from "../src/model/doc.js";

const DOC: Doc = {
  duration: "7 s",
  link: { rate: "13 Mbit/s", aqm: { name: "codel", ecn: true } },
  flows: [{ kind: "tcp", count: 3 }, { kind: "voice" }],
  empty: {},
};

test("values are read by dotted path", () => {
  assert.equal(get(DOC, "link.aqm.name"), "codel");
  assert.equal(get(DOC, "flows.0.count"), 3);
  assert.equal(get(DOC, "flows.7.count"), undefined);
  assert.equal(get(DOC, "duration.seconds"), undefined);
});

test("a change does not modify the original document", () => {
  const before = JSON.stringify(DOC);
  const after = set(DOC, "flows.1.count", 5);
  assert.equal(get(after, "flows.1.count"), 5);
  assert.equal(JSON.stringify(DOC), before);
  assert.deepEqual(set(DOC, "flows.0", undefined)["flows"], [{ kind: "voice" }]);
  assert.equal("rate" in (set(DOC, "link.rate", undefined)["link"] as Doc), false);
  assert.equal(get(set(DOC, "reverse.delay", "3 ms"), "reverse.delay"), "3 ms");
});

test("unflatten inverts flatten", () => {
  assert.deepEqual(unflatten(flatten(DOC)), DOC);
});

test("applying a difference to its base gives the document", () => {
  const others = [
    set(DOC, "link.rate", "2 Mbit/s"),
    set(DOC, "flows.0", undefined),
    set(set(DOC, "flows.2", { kind: "web", size: "800 kB" }), "name", "<script>"),
    set(DOC, "link.aqm", "pie"),
    set(DOC, "empty", undefined),
  ];
  for (const other of others) {
    assert.deepEqual(apply(DOC, difference(DOC, other)), other);
    assert.notEqual(difference(DOC, other).length, 0);
  }
  assert.deepEqual(difference(DOC, DOC), []);
});

test("edits of a text replace a table by a value in one step, and remove missing keys", () => {
  assert.deepEqual(edits(DOC, set(DOC, "link.aqm", "pie")), [{ set: "link.aqm", value: "pie" }]);
  assert.deepEqual(edits(DOC, set(DOC, "flows.1", undefined)), [{ set: "flows.1.kind", value: null }]);
});
