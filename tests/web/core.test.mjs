// What the page's interface promises, on the module itself. `node --test tests/web`, after `make web`.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decodePayload, FATES, InputError, load, REASONS } from "../../web/src/core/core.js";

const core = await load(readFileSync(process.env.SOJOURN_WASM ?? new URL("../../web/build/sojourn.wasm", import.meta.url)));

const ODD = `
duration = "7.3 s" # no whole number of anything
[link]
rate = "3.7 Mbit/s"
delay = "13 ms"
aqm = "codel target 7ms"
limit = "217 packets"
[[flows]]
kind = "tcp"
count = 3
rtt = "57 ms"
spread = "900 ms"
[[flows]]
kind = "cbr"
rate = "211 kbit/s"
size = "333 B"
start = "1.1 s"
`;

async function fingerprint(text, options) {
  return (await core.open(text, { packets: false, ...options })).finish().fingerprint;
}

test("a checkpoint is where a run comes back to, and a clone goes on alone", async () => {
  const run = await core.open(ODD);
  run.advance(3_141_592_653);
  run.view();
  const there = run.checkpoint();
  const other = await run.clone();
  run.advance(5e9);
  const first = run.view();
  run.restore(there);
  assert.equal(run.now_ns, 3_141_592_653);
  run.advance(5e9);
  assert.deepEqual(run.view(), first);
  other.advance(5e9);
  assert.deepEqual(other.view(), first);
  run.close();
  const { fingerprint: cloned } = other.finish();
  assert.equal(cloned, await fingerprint(ODD));
});

test("what is seen from frame to frame is what was recorded", async () => {
  const run = await core.open(ODD);
  const seen = [];
  while (!run.advance(run.now_ns + 16_666_667)) seen.push(...run.view().events.time_ns);
  seen.push(...run.view().events.time_ns);
  const whole = await core.open(ODD);
  whole.advance(Infinity);
  assert.deepEqual(seen.length, whole.view().events.time_ns.length);
  const { summary } = run.finish();
  assert.equal(seen.length, ["forward", "reverse"].reduce((n, way) => n + summary.links[way].packets + summary.links[way].dropped, 0));
  assert.equal(run.view().events.time_ns.length, 0);
});

test("what cannot be is an error with its place, and the core goes on", async () => {
  assert.throws(() => core.check(ODD.replace("3.7 Mbit/s", "3.7")), (error) => error instanceof InputError && /link\.rate: "3\.7" has no unit/.test(error.message));
  await assert.rejects(core.open(ODD, { sets: [["link.aqm", "codle"]] }), InputError);
  assert.equal(core.check(ODD).queues.length, 2);
});

test("a name is text, whatever is in it", () => {
  const name = `<script>alert("x")</script>\u0000\u202e`;
  const text = core.edit(ODD, [{ set: "name", value: name }]);
  assert.equal(core.check(text).scenario.name, name);
});

test("the words are those of the columns", async () => {
  const run = await core.open(ODD, { sets: [["link.limit", "5 packets"]] });
  run.advance(Infinity);
  const { links, events } = run.view();
  const limit = [...events.fate].filter((fate, i) => FATES[fate] === "limit" && events.link[i] === 0).length;
  assert.ok(limit > 0);
  assert.equal(links[0].dropped_by[REASONS.indexOf("limit")], limit);
});

test("every parameter has its range as numbers, or none at all", () => {
  for (const { params } of core.registry.aqms) {
    for (const { kind, min_value, max_value } of params) {
      const isQuantity = ["time", "bytes", "rate", "count", "number"].includes(kind);
      assert.equal(min_value !== null && max_value !== null && min_value < max_value, isQuantity, kind);
    }
  }
});

test("a result played back shows what the run showed", async () => {
  const run = await core.open(ODD);
  run.advance(Infinity);
  const { events } = run.view();
  const { summary } = run.finish();
  const payload = { checked: run.checked, seed: run.seed, duration_ns: run.duration_ns, summary, tables: { packets: events } };
  const [live, back] = [await core.open(ODD), await core.playback(payload)];
  for (const now of [777_777_777, 3e9, 5_123_456_789]) {
    live.advance(now);
    back.advance(now);
    const [one, other] = [live.view(), back.view()];
    for (const link of [0, 1]) {
      for (const key of ["backlog_packets", "arrived", "sent", "sent_bytes", "marked", "dropped_by", "sojourn_ns"]) {
        assert.deepEqual(other.links[link][key], one.links[link][key], `${key} at ${now}`);
      }
      assert.deepEqual(other.links[link].waiting.arrival, one.links[link].waiting.arrival);
    }
    assert.deepEqual(other.events.time_ns.length, one.events.time_ns.length);
  }
  const there = back.checkpoint();
  const [stepped, was] = [back.step(0), back.now_ns];
  assert.equal(stepped, false);
  live.step(0);
  assert.equal(was, live.now_ns);
  back.restore(there);
  assert.equal(back.now_ns, 5_123_456_789);
  const { tables } = back.finish();
  structuredClone(tables, { transfer: Object.values(tables.packets).map((column) => column.buffer) });
  const again = await back.clone();
  again.restore(there);
  assert.equal(again.view().links[0].waiting.arrival.length, again.view().links[0].backlog_packets);
  assert.ok(again.view().links[0].sent > 0, "what was handed on is not missing here");
});

test("bytes that are no result are refused", () => {
  assert.throws(() => decodePayload(new Uint8Array(3)), InputError);
  assert.throws(() => decodePayload(new TextEncoder().encode("SOJOURN1\u0005\u0000\u0000\u0000{{{{{")), InputError);
});
