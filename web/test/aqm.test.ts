import assert from "node:assert/strict";
import { test } from "node:test";
import type { Parameter, Registry } from "../src/core/core.js";
import { parseAqm, spell, valueOf } from "../src/model/aqm.js";

const param = (name: string, kind: Parameter["kind"], own: string): Parameter => ({
  name,
  kind,
  doc: "",
  default: own,
  min: null,
  max: null,
  default_value: null,
  min_value: null,
  max_value: null,
  unit: "",
  choices: [],
});

const registry: Registry = {
  aqms: [
    {
      name: "codel",
      summary: "",
      source: "",
      by_flow: false,
      holds: false,
      params: [
        param("target", "time", "5 ms"),
        param("interval", "time", "100 ms"),
        param("ecn", "flag", "false"),
        param("n", "count", "600"),
      ],
      profiles: [
        { name: "rfc8289", summary: "", spelling: "codel", values: { target: "5 ms", ecn: "false" } },
        { name: "act", summary: "", spelling: "codel@act", values: { target: "7 ms", ecn: "true" } },
      ],
    },
  ],
  ccs: [],
  stacks: [],
  traffic: [],
};

test("texts and tables are parsed alike", () => {
  const table: [unknown, string][] = [
    ["codel", "codel"],
    ["codel@act target 5ms", "codel@act target 5ms"],
    ["codel target 5 ms interval 70ms", "codel target 5ms interval 70ms"],
    ["codel ecn n 7", "codel ecn n 7"],
    ["codel noecn", "codel noecn"],
    ["codel ecn off", "codel noecn"],
    ["codel exclude_ce", "codel exclude_ce"],
    [{ name: "codel", profile: "act", target: "5 ms", ecn: false }, "codel@act target 5ms noecn"],
    [{ name: "codel@act" }, "codel@act"],
  ];
  for (const [value, text] of table) {
    const aqm = parseAqm(value as never, registry);
    assert.ok(aqm, JSON.stringify(value));
    assert.equal(spell(aqm, registry), text);
    assert.deepEqual(parseAqm(text, registry), aqm);
  }
});

test("queue managers that controls cannot represent are left unchanged", () => {
  for (const value of [
    "fq(codel)",
    "tbf rate 1mbit { codel }",
    "my.py:Mine",
    "codel speed 3",
    "codel target",
    { name: "codel", speed: "3" },
  ])
    assert.equal(parseAqm(value as never, registry), null, JSON.stringify(value));
});

test("a parameter is as set, else as in its profile", () => {
  const value = (text: string, name: string): string => valueOf(parseAqm(text, registry)!, name, registry);
  assert.equal(value("codel", "target"), "5 ms");
  assert.equal(value("codel@act", "target"), "7 ms");
  assert.equal(value("codel@act target 9ms", "target"), "9ms");
  assert.equal(value("codel@act", "ecn"), "true");
  assert.equal(value("codel", "interval"), "100 ms");
});
