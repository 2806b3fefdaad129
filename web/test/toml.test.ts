import assert from "node:assert/strict";
import { test } from "node:test";
import { PRESETS } from "../src/model/presets.js";
import { fromToml, toToml } from "../src/model/toml.js";

test("every preset is the same document after writing and reading", () => {
  for (const { id, text } of PRESETS) assert.deepEqual(fromToml(toToml(fromToml(text))), fromToml(text), id);
});

test("tables come in the order of scenario files, whatever order they were set in", () => {
  const text = toToml({ flows: [{ kind: "tcp" }], link: { rate: "1 Mbit/s" }, duration: "3 s" });
  assert.deepEqual(
    text.split("\n").filter(line => /^\[|^duration/.test(line)),
    ['duration = "3 s"', "[link]", "[[flows]]"],
  );
});

test("names of any letters come back", () => {
  for (const name of ['quo"te', "line\nbreak", "back\\slash", "<script>", "tab\t", "\u0000\u001f"])
    assert.equal(fromToml(toToml({ name }))["name"], name);
});

test("a scenario may be JSON, whose nulls are left out", () => {
  assert.deepEqual(fromToml(' {"duration": "3 s", "warmup": null, "flows": [{"count": 2, "stop": null}]}'), {
    duration: "3 s",
    flows: [{ count: 2 }],
  });
});

test("a text that is no TOML is refused with its line", () => {
  assert.throws(() => fromToml("duration = 3 s"), /1:/);
});
