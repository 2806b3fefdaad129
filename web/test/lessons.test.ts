import assert from "node:assert/strict";
import { test } from "node:test";
import { LESSONS } from "../src/lessons/index.js";
import type { RunStats } from "../src/lessons/lesson.js";
import { fromToml } from "../src/model/toml.js";
import { LESSON_KEYS } from "../src/panels/keys.js";
import { CASES, published } from "../src/papers/index.js";
import { verdict } from "../src/papers/case.js";

const plain: RunStats = {
  aqm: "codel",
  p50: 8,
  p95: 13,
  p99: 15,
  utilisation: 0.99,
  drops: 200,
  marks: 0,
  mos: null,
  flows: [],
  downloads: 4,
};

const of = (changes: Partial<RunStats>): RunStats => ({ ...plain, ...changes });
const flows = (prague: number, cubic: number): RunStats["flows"] => [
  { cc: "cubic", mbps: cubic },
  { cc: "cubic", mbps: cubic },
  { cc: "prague@0.7", mbps: prague },
];

/** Statistics of both runs, and whether they answer the question. */
const ANSWERS: Record<string, [RunStats, RunStats, boolean][]> = {
  "tail-drop": [
    [of({ aqm: "droptail", p95: 600, utilisation: 1 }), plain, false],
    [of({ aqm: "droptail", p95: 24, utilisation: 1 }), plain, true],
    [of({ aqm: "droptail", p95: 3, utilisation: 0.9 }), plain, false],
    [of({ aqm: "codel", p95: 24, utilisation: 1 }), plain, false],
  ],
  red: [
    [of({ aqm: "red", p50: 39, downloads: 32 }), plain, false],
    [of({ aqm: "red", p50: 19, downloads: 32 }), plain, true],
    [of({ aqm: "red", p50: 15, downloads: 4 }), plain, false],
  ],
  codel: [
    [of({ utilisation: 0.882 }), of({ utilisation: 0.894 }), false],
    [of({ utilisation: 0.882 }), of({ utilisation: 0.91 }), true],
    [of({ utilisation: 0.882 }), of({ aqm: "pie", utilisation: 0.98 }), false],
  ],
  "many-flows": [
    [of({ downloads: 64, p50: 47 }), plain, false],
    [of({ downloads: 4, p50: 8 }), plain, true],
    [of({ downloads: 1, p50: 1.2 }), plain, false],
  ],
  pie: [
    [of({ aqm: "pie", p50: 12.8 }), of({ p50: 11.5 }), true],
    [of({ aqm: "pie", p50: 17.5 }), of({ p50: 11.5 }), false],
  ],
  "flow-queueing": [
    [of({ mos: 3.6 }), of({ aqm: "fq_codel", mos: 4.4 }), false],
    [of({ mos: 1.9 }), of({ aqm: "fq_codel", mos: 4.4 }), true],
    [of({ mos: null }), of({ aqm: "fq_codel", mos: null }), false],
  ],
  ecn: [
    [of({ p95: 12.8 }), of({ p95: 12.8, drops: 0, marks: 200 }), false],
    [of({ p95: 12.8 }), of({ p95: 10.4, drops: 0, marks: 200 }), true],
    [of({ p95: 12.8 }), of({ p95: 10.4, drops: 3, marks: 200 }), false],
  ],
  l4s: [
    [of({ aqm: "dualpi2", flows: flows(16.8, 2.5) }), plain, false],
    [of({ aqm: "dualpi2", flows: flows(10, 9) }), plain, true],
    [of({ aqm: "dualpi2", flows: flows(10, NaN) }), plain, false],
  ],
};

test("every lesson has answers here", () => {
  assert.deepEqual(Object.keys(ANSWERS).sort(), LESSONS.map(lesson => lesson.id).sort());
  assert.equal(LESSONS.length, 8);
});

for (const lesson of LESSONS)
  test(`${lesson.id}: right and wrong answers are judged, with numbers in the feedback`, () => {
    assert.ok(fromToml(lesson.scenario)["flows"]);
    for (const [a, b, right] of ANSWERS[lesson.id]!) {
      const answer = lesson.judge(a, b);
      assert.equal(answer.right, right, answer.feedback);
      assert.match(answer.feedback, /\d|–/);
    }
  });

test("published values are those of claims.json, graded by their bands", () => {
  for (const paper of CASES) assert.equal(published(paper.id).length, paper.published.length);
  const { claim } = published("table1-4-pie")[0]!;
  assert.equal(claim.expected, 8.79);
  const values = [claim.expected, claim.tight_hi + 0.001, claim.loose_lo - 0.001, NaN];
  assert.deepEqual(
    values.map(value => verdict(claim, value)),
    ["tight", "loose", "outside", "unknown"],
  );
});

test("every question has a slider", () => {
  for (const { id, control } of LESSONS) if ("key" in control) assert.ok(LESSON_KEYS[control.key], id);
});
