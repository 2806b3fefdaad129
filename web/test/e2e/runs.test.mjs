// Runs in the page and on the command line are the same runs.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { fingerprints, here, nothingWentWrong, session, skip, visit } from "./visitor.mjs";
import { settled, web } from "../browser.mjs";

const python = process.env.SOJOURN_PYTHON ?? join(web, "../.venv/bin/python");
const withNative = { skip: skip || (existsSync(python) ? false : "sojourn is not built (make .venv/.built)") };
const shipped = join(web, "../python/sojourn/model/scenarios/shipped");

/** Fingerprints of scenario files by the native simulator. */
async function native(paths) {
  const { stdout } = await promisify(execFile)(python, [join(web, "test/native.py"), ...paths]);
  return JSON.parse(stdout);
}

/** Fingerprints of texts, in their order. */
async function nativeOf(texts) {
  const paths = texts.map((_, i) => join(here.folder, `${i}.toml`));
  await Promise.all(texts.map((text, i) => writeFile(paths[i], text)));
  const known = await native(paths);
  return paths.map(path => known[path]);
}
test("fingerprints of all shipped scenarios without files equal the native ones", withNative, async () => {
  await visit("#base=lab");
  const names = await here.page.evaluate(() =>
    [...document.querySelector("sojourn-lab").shadowRoot.querySelectorAll("optgroup:last-of-type option")].map(
      option => option.value,
    ),
  );
  const studies = (await readdir(shipped)).filter(name => name.endsWith(".toml"));
  assert.ok(names.length >= 20 && names.length < studies.length);
  const expected = native(names.map(name => join(shipped, `${name}.toml`)));
  const found = {};
  for (const name of names) {
    // The same queue manager in B, so that both workers check the same run.
    await session((lab, id) => lab.choose(id), name);
    await here.page.waitForFunction(() => !document.querySelector("sojourn-lab").session.isBusy);
    const error = await session(lab => lab.errors.a);
    found[join(shipped, `${name}.toml`)] = error || (await fingerprints())[0];
  }
  assert.deepEqual(found, await expected);
});

test("changes during playback give the same fingerprint on the command line", withNative, async () => {
  await visit("#base=lab&duration=12+s&warmup=2+s");
  await session(lab =>
    lab.update({
      changes: [
        { at_ns: 3_700_000_001, side: "both", set: "link.rate", value: "4.3 Mbit/s" },
        { at_ns: 5e9, side: "b", set: "link.aqm", value: "codel target 9ms noecn" },
        { at_ns: 6e9, side: "both", group: 0, count: 7 },
        { at_ns: 8e9, side: "both", group: 0, count: 2 },
      ],
    }),
  );
  await settled(here.page);
  const texts = await session(({ runs }) => [runs.a.outcome.text, runs.b.outcome.text]);
  assert.match(texts[1], /\[\[changes\]\]/);
  assert.deepEqual(await nativeOf(texts), await fingerprints());
});
test("recorded arrivals are replayed into both queues", { skip }, async () => {
  await visit("#base=lab&duration=8+s&warmup=1+s&mode=arrivals");
  const found = await session(({ runs, first }) => ({
    arrivals: [runs.a.index.arrivedAt.length, runs.b.index.arrivedAt.length],
    same: runs.a.index.arrivedAt.every((at, i) => at === runs.b.index.arrivedAt[i]),
    prints: [runs.a.outcome.fingerprint, runs.b.outcome.fingerprint],
    first,
  }));
  assert.ok(found.arrivals[0] > 1000);
  assert.equal(found.arrivals[0], found.arrivals[1]);
  assert.ok(found.same && found.first);
  assert.deepEqual(found.prints, [null, null]);
  assert.match(await here.page.locator(".prints").innerText(), /sojourn aqm diff "droptail" "codel" --scenario/);
});

test("the first difference equals that of the command line and of the core", withNative, async () => {
  const difference = () => session(({ first }) => [first.arrival, first.at_ns, first.arrived_ns]);
  await visit("#base=codel&duration=8+s&warmup=1+s&mode=arrivals&b=pie+target+7ms");
  const file = join(here.folder, "a.toml");
  await writeFile(file, await session(({ runs }) => runs.a.outcome.text));
  const command = ["-m", "sojourn", "aqm", "diff", "codel", "pie target 7ms", "--scenario", file, "--json"];
  const { stdout } = await promisify(execFile)(python, command).catch(error => error);
  const { index, at_ns, arrival } = JSON.parse(stdout).first_difference;
  assert.deepEqual(await difference(), [index, at_ns, arrival.time_ns]);

  await visit("#base=codel&duration=8+s&warmup=1+s&b=codel+target+7ms");
  const { load } = await import("../../src/core/core.js");
  const core = await load(await readFile(join(web, "build/sojourn.wasm")));
  const texts = await session(({ runs }) => [runs.a.outcome.text, runs.b.outcome.text]);
  const found = await core.differenceOfTraffic(...texts);
  assert.deepEqual(await difference(), [found.arrival, found.at_ns, found.arrived_ns]);
});
/** A payload as `sojourn lab` sends it: see `decodePayload`. */
function encodePayload(head, tables) {
  const kinds = { Float64Array: "f64", Uint32Array: "u32", Uint8Array: "u8" };
  const [parts, index] = [[], {}];
  let offset = 0;
  for (const [name, table] of Object.entries(tables)) {
    index[name] = {};
    for (const [column, values] of Object.entries(table)) {
      index[name][column] = [kinds[values.constructor.name], offset, values.length];
      parts.push(Buffer.from(values.buffer), Buffer.alloc((8 - (values.byteLength % 8)) % 8));
      offset += Math.ceil(values.byteLength / 8) * 8;
    }
  }
  const text = Buffer.from(JSON.stringify({ ...head, tables: index }));
  const start = Buffer.alloc(12);
  start.write("SOJOURN1");
  start.writeUInt32LE(text.length, 8);
  const padding = Buffer.alloc((8 - ((12 + text.length) % 8)) % 8);
  return Buffer.concat([start, text, padding, ...parts]);
}

/** A small run with all tables of the page, as the parts of a payload. */
async function recorded(text) {
  const { load } = await import("../../src/core/core.js");
  const core = await load(await readFile(join(web, "build/sojourn.wasm")));
  const sets = [
    ["probes.packets", "true"],
    ["probes.state", "10 ms"],
    ["probes.flows", "100 ms"],
  ];
  const run = await core.open(text, { sets, packets: false });
  const { checked, seed, duration_ns } = run;
  const { fingerprint, summary, tables } = run.finish();
  return { fingerprint, tables, head: { checked, seed, duration_ns, summary } };
}

test("a scenario with too many packets is run by the server", { skip }, async () => {
  const { fingerprint, tables, head } = await recorded(
    `duration = "5 s"\n[link]\nrate = "6 Mbit/s"\naqm = "codel"\n[[flows]]\nkind = "tcp"\ncount = 3\nrtt = "30 ms"\n`,
  );
  const requests = [];
  here.server.state.native = request => {
    requests.push(request.text);
    return encodePayload(head, tables);
  };
  const text = `duration = "40 s"\n[link]\nrate = "1 Gbit/s"\naqm = "codel"\n[[flows]]\nkind = "tcp"\n`;
  here.server.state.start = { text, native: "native" };
  try {
    await visit("");
    assert.deepEqual(await fingerprints(), [fingerprint, fingerprint]);
    assert.equal(requests.length, 2);
    assert.ok(requests.every(text => text.includes('rate = "1 Gbit/s"')));
  } finally {
    here.server.state.start = {};
    here.server.state.native = null;
  }
});

test("results from disk are shown as recorded, or rerun to the same fingerprint", { skip }, async () => {
  const text = `duration = "5 s"\n[link]\nrate = "6 Mbit/s"\naqm = "codel"\n[[flows]]\nkind = "tcp"\ncount = 3\nrtt = "30 ms"\n`;
  const { fingerprint, tables, head } = await recorded(text);
  try {
    const whole = [text, tables];
    const short = [JSON.stringify(head.checked.scenario), { sojourn_histogram: tables.sojourn_histogram }];
    for (const [as, shown] of [whole, short]) {
      here.server.state.start = { text: as, payload: { base64: encodePayload(head, shown).toString("base64") } };
      await visit("");
      assert.equal((await fingerprints())[0], fingerprint);
      assert.match(await here.page.locator(".prints").innerText(), /as in the stored result/);
      const departures = head.summary.links.forward.packets;
      const sent = await session(({ runs }) => runs.a.packets.fate.filter(fate => fate <= 1).length);
      assert.equal(sent, departures);
      // Snapshots work at any time, in both queues.
      await session(lab => {
        lab.play(false);
        lab.seek(3e9);
      });
      await here.page.waitForFunction(() => {
        const { snapshots } = document.querySelector("sojourn-lab").session;
        return snapshots.a?.at_ns === 3e9 && snapshots.b?.at_ns === 3e9;
      });
      assert.deepEqual(await session(lab => lab.errors), { a: "", b: "" });
    }
    await session(lab => lab.update({ doc: { ...lab.state.doc, link: { ...lab.state.doc.link, rate: "5 Mbit/s" } } }));
    await settled(here.page);
    assert.notEqual((await fingerprints())[0], fingerprint);
    assert.doesNotMatch(await here.page.locator(".prints").innerText(), /stored result/);
  } finally {
    here.server.state.start = {};
  }
});

nothingWentWrong();
