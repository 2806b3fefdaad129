import assert from "node:assert/strict";
import { test } from "node:test";
import { PRESETS } from "../src/model/presets.js";
import { fromToml, toToml } from "../src/model/toml.js";

test("every preset is unchanged after formatting and parsing", () => {
  for (const { id, text } of PRESETS) assert.deepEqual(fromToml(toToml(fromToml(text))), fromToml(text), id);
});

test("tables are in the order of scenario files, independent of the order of edits", () => {
  const text = toToml({ flows: [{ kind: "tcp" }], link: { rate: "1 Mbit/s" }, duration: "3 s" });
  assert.deepEqual(
    text.split("\n").filter(line => /^\[|^duration/.test(line)),
    ['duration = "3 s"', "[link]", "[[flows]]"],
  );
});

test("names with any characters are decoded", () => {
  for (const name of ['quo"te', "line\nbreak", "back\\slash", "<script>", "tab\t", "\u0000\u001f"])
    assert.equal(fromToml(toToml({ name }))["name"], name);
});

test("a scenario may be JSON; its nulls are omitted", () => {
  assert.deepEqual(fromToml(' {"duration": "3 s", "warmup": null, "flows": [{"count": 2, "stop": null}]}'), {
    duration: "3 s",
    flows: [{ count: 2 }],
  });
});

test("invalid TOML is rejected with its line", () => {
  assert.throws(() => fromToml("duration = 3 s"), /1:/);
});
