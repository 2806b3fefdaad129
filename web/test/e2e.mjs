// End to end in headless Chromium: `npm run e2e`. Skipped with a reason where there is no browser or nothing is built.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { browse, missing, serve, settled, web } from "./browser.mjs";

const skip = missing() || false;
const python = process.env.SOJOURN_PYTHON ?? join(web, "../.venv/bin/python");
const withNative = { skip: skip || (existsSync(python) ? false : "sojourn is not built (make .venv/.built)") };
const shipped = join(web, "../python/sojourn/scenarios/shipped");

let server, browser, page, folder;
/** What must not happen: errors on the console, and requests to anywhere else. */
const faults = [];

/** Fingerprints of scenario files by the native simulator. */
async function native(paths) {
  const { stdout } = await promisify(execFile)(python, [join(web, "test/native.py"), ...paths]);
  return JSON.parse(stdout);
}

/** Fingerprints of texts, in their order. */
async function nativeOf(texts) {
  const paths = texts.map((_, i) => join(folder, `${i}.toml`));
  await Promise.all(texts.map((text, i) => writeFile(paths[i], text)));
  const known = await native(paths);
  return paths.map(path => known[path]);
}

/** Goes to an address of the page as a new visitor. */
async function visit(hash) {
  await page.goto("about:blank");
  await page.goto(server.address + hash);
  await settled(page);
}

const session = (read, argument) =>
  page.evaluate(
    ([text, value]) =>
      new Function("session", "value", `return (${text})(session, value)`)(
        document.querySelector("sojourn-lab").session,
        value,
      ),
    [String(read), argument],
  );

const fingerprints = () => session(({ runs }) => [runs.a.outcome.fingerprint, runs.b.outcome.fingerprint]);

before(async () => {
  if (skip) return;
  folder = await mkdtemp(join(tmpdir(), "sojourn-e2e-"));
  server = await serve();
  // Evaluating text is for these tests alone; the page's own policy is what the test of the policy looks at.
  browser = await browse({ bypassCSP: true });
  page = browser.context.pages()[0];
  page.setDefaultTimeout(20_000);
  page.on("console", message => message.type() === "error" && faults.push(message.text()));
  page.on("pageerror", error => faults.push(error.message));
  page.on("request", request => {
    const url = request.url();
    if (!url.startsWith(server.address) && !/^(blob|data|about):/.test(url)) faults.push(`request to ${url}`);
  });
});

after(async () => {
  await browser?.close();
  server?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

test("fingerprints of every shipped scenario without files are the native ones", withNative, async () => {
  await visit("#base=lab");
  const names = await page.evaluate(() =>
    [...document.querySelector("sojourn-lab").shadowRoot.querySelectorAll("optgroup:last-of-type option")].map(
      option => option.value,
    ),
  );
  const studies = (await readdir(shipped)).filter(name => name.endsWith(".toml"));
  assert.ok(names.length >= 20 && names.length < studies.length);
  const expected = native(names.map(name => join(shipped, `${name}.toml`)));
  const found = {};
  for (const name of names) {
    // The same queue manager in B: then both workers check the same thing.
    await session((lab, id) => lab.choose(id), name);
    await page.waitForFunction(() => !document.querySelector("sojourn-lab").session.isBusy);
    const trouble = await session(lab => lab.trouble.a);
    found[join(shipped, `${name}.toml`)] = trouble || (await fingerprints())[0];
  }
  assert.deepEqual(found, await expected);
});

test("what was changed while it ran gives the same fingerprint on the command line", withNative, async () => {
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
  await settled(page);
  const texts = await session(({ runs }) => [runs.a.outcome.text, runs.b.outcome.text]);
  assert.match(texts[1], /\[\[changes\]\]/);
  assert.deepEqual(await nativeOf(texts), await fingerprints());
});

test("moving a slider runs again and redraws", { skip }, async () => {
  await visit("#base=lab&duration=8+s&warmup=1+s");
  const before = await fingerprints();
  const picture = () => page.locator(".plot[data-plot=sojourn] canvas").evaluate(canvas => canvas.toDataURL());
  const old = await picture();
  const slider = page.locator('[data-field="link.rate"] input[type=range]');
  await slider.focus();
  for (let i = 0; i < 9; i++) await slider.press("ArrowLeft");
  await settled(page);
  const now = await fingerprints();
  assert.notEqual(now[0], before[0]);
  assert.notEqual(now[1], before[1]);
  assert.notEqual(await picture(), old);
  const text = await page.locator('[data-field="link.rate"] input[type=text]').inputValue();
  assert.match(text, /^[\d.]+ Mbit\/s$/);
  assert.equal(await session(lab => lab.state.doc.link.rate), text);
});

test("a parameter of B changes B alone", { skip }, async () => {
  await visit("#base=lab&duration=8+s&warmup=1+s");
  const before = await fingerprints();
  await page.locator(".side-b summary").first().click();
  const field = page.locator('[data-field="b.target"] input[type=text]');
  await field.fill("21 ms");
  await field.press("Enter");
  await settled(page);
  const now = await fingerprints();
  assert.equal(now[0], before[0]);
  assert.notEqual(now[1], before[1]);
  assert.equal(await session(lab => lab.state.b), "codel target 21ms");
  const slider = page.locator('[data-field="b.target"] input[type=range]');
  await slider.focus();
  await slider.press("ArrowRight");
  const moved = parseFloat(await field.inputValue());
  assert.ok(moved > 21 && moved < 23, String(moved));
});

test("a control that is moved while it plays becomes a change from there on", { skip }, async () => {
  await visit("#base=lab&duration=8+s&warmup=1+s&at=3s&speed=0.01");
  await page.getByRole("button", { name: "Play (space)" }).click();
  const slider = page.locator('[data-field="link.rate"] input[type=range]');
  await slider.focus();
  await slider.press("ArrowLeft");
  await page.getByRole("button", { name: "Pause (space)" }).click();
  await settled(page);
  const [change] = await session(lab => lab.state.changes);
  assert.equal(change.set, "link.rate");
  assert.ok(change.at_ns >= 3e9 && change.at_ns < 4e9);
  assert.match(await session(({ runs }) => runs.a.outcome.text), /\[\[changes\]\]/);
  assert.equal(await session(lab => lab.state.doc.link.rate), "10 Mbit/s");
});

test("steps go from packet to packet, and back", { skip }, async () => {
  await visit("#base=lab&duration=8+s&warmup=1+s&at=2s");
  const at = () => session(lab => lab.state.at_ns);
  const instants = [await at()];
  for (let i = 0; i < 4; i++) {
    await page.getByRole("button", { name: "One packet on" }).click();
    instants.push(await at());
  }
  for (let i = 1; i < instants.length; i++)
    assert.ok(instants[i] > instants[i - 1] && instants[i] - instants[i - 1] < 5e6);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("ArrowLeft");
  assert.equal(await at(), instants[3]);
  await page.keyboard.press(" ");
  assert.equal(await session(lab => lab.playing), true);
  await page.keyboard.press(" ");
  assert.equal(await session(lab => lab.playing), false);
});

test("scrubbing back shows the same queue", { skip }, async () => {
  await visit("#base=lab&duration=8+s&warmup=1+s&at=6s");
  const looks = async () => {
    await page.waitForFunction(() => {
      const { looks, state } = document.querySelector("sojourn-lab").session;
      return looks.a?.at_ns === state.at_ns && looks.b?.at_ns === state.at_ns;
    });
    return session(({ looks }) => [looks.a.link.backlog_packets, looks.b.link.state]);
  };
  const scrub = page.getByRole("slider", { name: "Time in the run" });
  const first = await looks();
  await scrub.fill("300");
  const early = await looks();
  assert.notDeepEqual(early, first);
  await session(lab => lab.seek(6e9));
  assert.deepEqual(await looks(), first);
  // The records and the simulator agree on what waits.
  assert.equal(await session(({ runs, state }) => runs.a.index.waiting(state.at_ns).length), first[0]);
});

test("the first different packet is found, shown, and explained", { skip }, async () => {
  await visit("#base=lab&duration=8+s&warmup=1+s");
  await page.getByRole("button", { name: /^First difference: packet/ }).click();
  const first = await session(lab => lab.first);
  assert.equal(await session(lab => lab.state.at_ns), first.at_ns);
  await page.locator(".packet h3").waitFor();
  assert.match(await page.locator(".packet").innerText(), /number \d+ of flow/);
});

test("a dropped packet says why", { skip }, async () => {
  await visit("#base=lab&duration=12+s&at=9s");
  await page.getByRole("button", { name: "Last drop: why?" }).last().click();
  await page.waitForFunction(() => document.querySelector("sojourn-lab").session.before);
  assert.match(await page.locator(".packet p").innerText(), /above the target|count = \d/);
  await page.getByRole("button", { name: "Last drop: why?" }).first().click();
  assert.match(await page.locator(".packet p").innerText(), /buffer was full/);
  // A packet is clicked where it is drawn: the one at the head of B's queue.
  await page.keyboard.press("Escape");
  await page.locator(".packet").waitFor({ state: "hidden" });
  const canvas = page.locator(".side-b canvas");
  const { width } = await canvas.boundingBox();
  await canvas.click({ position: { x: Math.round(width * 0.66) - 6, y: 72 } });
  const head = await session(({ runs, selection, state }) => [selection, runs.b.index.waiting(state.at_ns)[0]]);
  assert.deepEqual(head[0], { side: "b", row: head[1] });
});

test("recorded arrivals are played into both queues", { skip }, async () => {
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
  assert.match(await page.locator(".prints").innerText(), /sojourn aqm diff "droptail" "codel" --scenario/);
});

test("the first difference is the one that the command line and the core find", withNative, async () => {
  const difference = () => session(({ first }) => [first.arrival, first.at_ns, first.arrived_ns]);
  await visit("#base=codel&duration=8+s&warmup=1+s&mode=arrivals&b=pie+target+7ms");
  const file = join(folder, "a.toml");
  await writeFile(file, await session(({ runs }) => runs.a.outcome.text));
  const command = ["-m", "sojourn", "aqm", "diff", "codel", "pie target 7ms", "--scenario", file, "--json"];
  const { stdout } = await promisify(execFile)(python, command).catch(error => error);
  const { index, at_ns, arrival } = JSON.parse(stdout).first_difference;
  assert.deepEqual(await difference(), [index, at_ns, arrival.time_ns]);

  await visit("#base=codel&duration=8+s&warmup=1+s&b=codel+target+7ms");
  const { load } = await import("../src/core/core.js");
  const core = await load(await readFile(join(web, "build/sojourn.wasm")));
  const texts = await session(({ runs }) => [runs.a.outcome.text, runs.b.outcome.text]);
  const found = await core.differenceOfTraffic(...texts);
  assert.deepEqual(await difference(), [found.arrival, found.at_ns, found.arrived_ns]);
});

test("an address brings back all of the state", { skip }, async () => {
  await visit("#base=lab&duration=6+s&warmup=1+s");
  await session(lab => {
    lab.update({
      b: "pie target 7ms",
      speed: 0.01,
      changes: [{ at_ns: 2e9, side: "a", set: "link.limit", value: "77 packets" }],
    });
    lab.seek(3_456_789_012);
  });
  await settled(page);
  await page.waitForFunction(() => location.hash.includes("at=3.456789012s"));
  const [hash, state, prints] = [
    await page.evaluate(() => location.hash),
    await session(lab => lab.state),
    await fingerprints(),
  ];
  await visit(hash);
  assert.deepEqual(await session(lab => lab.state), state);
  assert.deepEqual(await fingerprints(), prints);
});

test("TOML, SVG and PNG are downloaded", { skip }, async () => {
  await visit("#base=lab&duration=6+s&warmup=1+s");
  const save = async locator => {
    const [download] = await Promise.all([page.waitForEvent("download"), locator.click()]);
    return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
  };
  const toml = await save(page.getByRole("button", { name: "TOML" }).first());
  assert.equal(toml.name, "four-downloads-and-a-call-a.toml");
  assert.match(toml.bytes.toString(), /^name = "four downloads and a call"/);
  // Comments of the text that it came from stay, and what was changed is in it.
  await visit("#base=codel&duration=11+s&b=pie+target+7ms");
  await session(lab => lab.update({ changes: [{ at_ns: 4e9, side: "b", set: "link.rate", value: "3 Mbit/s" }] }));
  await settled(page);
  const second = (await save(page.getByRole("button", { name: "TOML" }).last())).bytes.toString();
  assert.match(second, /^# The same traffic as in bufferbloat.toml/);
  assert.match(second, /duration = "11 s"[^]*aqm = "pie target 7ms"[^]*\[\[changes\]\]\nat = "4 s"/);
  const figure = page.locator(".plot[data-plot=cdf]");
  const svg = await save(figure.getByRole("button", { name: "SVG" }));
  assert.match(svg.bytes.toString(), /^<svg [^]*share of packets[^]*<\/svg>\n$/);
  const png = await save(figure.getByRole("button", { name: "PNG" }));
  assert.equal(png.bytes.subarray(1, 4).toString(), "PNG");
});

test("a trace that is dropped onto the page becomes the link", { skip }, async () => {
  await visit("#base=lab&duration=6+s&warmup=1+s");
  const before = await fingerprints();
  // 3 opportunities in 4 ms, over and over: 9 Mbit/s.
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await (await chooser).setFiles({ name: "three.down", mimeType: "text/plain", buffer: Buffer.from("1\n2\n4\n") });
  await settled(page);
  const now = await fingerprints();
  assert.notEqual(now[0], before[0]);
  const rate = await session(({ runs }) => runs.a.outcome.summary.goodput_bps);
  assert.ok(rate > 8e6 && rate < 9e6, String(rate));
  assert.match(await page.locator(".trace").innerText(), /three\.down/);
  // The same by dropping a file: one opportunity a ms, 12 Mbit/s.
  await page.locator("main").evaluate(main => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["1\n"], "one.down"));
    main.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, composed: true, cancelable: true }));
  });
  await page.locator(".trace").getByText("one.down").waitFor();
  await settled(page);
  const faster = await session(({ runs }) => runs.a.outcome.summary.goodput_bps);
  assert.ok(faster > 11e6 && faster < 12e6, String(faster));
});

test("what is wrong is said with place and remedy, and the last good run stays", { skip }, async () => {
  await visit("#base=lab&duration=6+s&warmup=1+s");
  const before = await fingerprints();
  await session(lab =>
    lab.update(state => ({ ...state, doc: { ...state.doc, link: { ...state.doc.link, rate: "10" } } })),
  );
  const alert = page.getByRole("alert");
  await alert.getByText("link.rate").waitFor();
  assert.match(await alert.innerText(), /10 Mbit\/s/);
  assert.deepEqual(await fingerprints(), before);
  await session(lab =>
    lab.update(state => ({ ...state, doc: { ...state.doc, link: { ...state.doc.link, rate: "9 Mbit/s" } } })),
  );
  await settled(page);
  await alert.waitFor({ state: "hidden" });
});

test("names from scenarios are text, whatever they are", { skip }, async () => {
  const name = `<script>window.hit = 1</script><img src=x onerror="window.hit = 1">`;
  server.state.start = {
    name,
    text: `name = ${JSON.stringify(name)}\nduration = "3 s"\n[link]\nrate = "3 Mbit/s"\naqm = "codel"\n[[flows]]\nkind = "tcp"\n`,
  };
  try {
    await visit("");
    assert.equal(await page.locator("header .name").innerText(), name);
    assert.equal(await page.evaluate(() => window.hit), undefined);
    assert.equal(await page.locator("header img, header script").count(), 0);
    await visit(await page.evaluate(() => location.hash));
    assert.equal(await page.evaluate(() => window.hit), undefined);
  } finally {
    server.state.start = {};
  }
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

test("results from disk are shown as they were recorded, or run again to the same fingerprint", { skip }, async () => {
  const { load } = await import("../src/core/core.js");
  const core = await load(await readFile(join(web, "build/sojourn.wasm")));
  const text = `duration = "5 s"\n[link]\nrate = "6 Mbit/s"\naqm = "codel"\n[[flows]]\nkind = "tcp"\ncount = 3\nrtt = "30 ms"\n`;
  const sets = [
    ["probes.packets", "true"],
    ["probes.state", "10 ms"],
    ["probes.flows", "100 ms"],
  ];
  const run = await core.open(text, { sets, packets: false });
  const { checked, seed, duration_ns } = run;
  const { fingerprint, summary, tables } = run.finish();
  const head = { checked, seed, duration_ns, summary };
  try {
    for (const shown of [tables, { sojourn_histogram: tables.sojourn_histogram }]) {
      server.state.start = { text, payload: { base64: encodePayload(head, shown).toString("base64") } };
      await visit("");
      assert.equal((await fingerprints())[0], fingerprint);
      assert.match(await page.locator(".prints").innerText(), /as in the stored result/);
      const departures = summary.links.forward.packets;
      const sent = await session(({ runs }) => runs.a.packets.fate.filter(fate => fate <= 1).length);
      assert.equal(sent, departures);
    }
    await session(lab => lab.update({ doc: { ...lab.state.doc, link: { ...lab.state.doc.link, rate: "5 Mbit/s" } } }));
    await settled(page);
    assert.notEqual((await fingerprints())[0], fingerprint);
    assert.doesNotMatch(await page.locator(".prints").innerText(), /stored result/);
  } finally {
    server.state.start = {};
  }
});

test("a lesson's question is answered by its slider", { skip }, async () => {
  await visit("#base=lesson-tail-drop");
  const says = page.locator(".says");
  await says.getByText("Not there yet").waitFor();
  await page.getByRole("button", { name: "Show me the slider" }).click();
  const slider = page.locator('[data-field="link.limit"] input[type=range]');
  assert.ok(await slider.evaluate(element => element.getRootNode().activeElement === element));
  for (let i = 0; i < 40 && !(await says.innerText()).includes("Right"); i++) {
    for (let k = 0; k < 5; k++) await slider.press("ArrowLeft");
    await settled(page);
  }
  assert.match(await says.innerText(), /Right/);
});

/** What answers each lesson's question: a key of the scenario, or a parameter of a side. */
const SOLUTIONS = {
  "tail-drop": lab => lab.update({ doc: { ...lab.state.doc, link: { ...lab.state.doc.link, limit: "20 packets" } } }),
  red: lab =>
    lab.update({
      doc: {
        ...lab.state.doc,
        link: { ...lab.state.doc.link, aqm: "red min 15kB max 45kB probability 0.9 avpkt 1500B" },
      },
    }),
  codel: lab => lab.update({ b: "codel interval 700ms" }),
  "many-flows": lab => lab.update({ doc: { ...lab.state.doc, flows: [{ ...lab.state.doc.flows[0], count: 4 }] } }),
  pie: lab => lab.update({ doc: { ...lab.state.doc, link: { ...lab.state.doc.link, aqm: "pie target 11ms" } } }),
  "flow-queueing": lab =>
    lab.update({ doc: { ...lab.state.doc, flows: [{ ...lab.state.doc.flows[0], count: 9 }, lab.state.doc.flows[1]] } }),
  ecn: lab => lab.update({ b: "codel ecn target 2ms" }),
  l4s: lab =>
    lab.update({ doc: { ...lab.state.doc, link: { ...lab.state.doc.link, aqm: "dualpi2 coupling_factor 3.1" } } }),
};

for (const [id, solve] of Object.entries(SOLUTIONS))
  test(`lesson ${id}: the question is open at first, and has an answer`, { skip }, async () => {
    await visit(`#base=lesson-${id}`);
    const says = () => page.locator(".says").innerText();
    assert.match(await says(), /\d.*Not there yet/);
    await session(solve);
    await settled(page);
    assert.match(await says(), /^✓ Right\. .*\d/);
  });

test("published values stand beside what was run", { skip }, async () => {
  await visit("#base=paper-table1-4-pie");
  const rows = page.locator(".guide tbody tr");
  assert.equal(await rows.count(), 4);
  assert.match(await rows.first().innerText(), /8\.79 ms/);
  const verdicts = await rows.evaluateAll(all => all.map(row => row.dataset.verdict));
  assert.ok(
    verdicts.every(verdict => verdict === "tight" || verdict === "loose"),
    verdicts.join(),
  );
});

test("nothing serious is in the way of anybody (axe)", { skip }, async () => {
  const axe = await readFile(join(web, "node_modules/axe-core/axe.min.js"), "utf8");
  for (const [hash, colorScheme] of [
    ["#base=lesson-l4s&duration=6+s&warmup=1+s", "light"],
    ["#base=paper-table1-4-pie&duration=12+s", "dark"],
  ]) {
    await page.emulateMedia({ colorScheme });
    await visit(hash);
    await page.evaluate(axe);
    await page.evaluate(() => {
      for (const details of document.querySelector("sojourn-lab").shadowRoot.querySelectorAll("details"))
        details.open = true;
    });
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    assert.deepEqual(
      serious.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(node => node.html.slice(0, 160))]),
      [],
    );
  }
  await page.emulateMedia({ colorScheme: null });
});

test("on a phone nothing is wider than the screen", { skip }, async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await visit("#base=lab&duration=6+s&warmup=1+s");
  const [inner, whole] = await page.evaluate(() => [innerWidth, document.documentElement.scrollWidth]);
  assert.equal(whole, inner);
  await page.setViewportSize({ width: 1280, height: 800 });
});

test("the page obeys its policy: no inline script, no eval", { skip }, async () => {
  const strict = await browse();
  try {
    const visitor = strict.context.pages()[0];
    const said = [];
    visitor.on("console", message => message.type() === "error" && said.push(message.text()));
    await visitor.goto(`${server.address}#base=lab&duration=3+s&warmup=1+s`);
    await settled(visitor);
    assert.deepEqual(said, []);
  } finally {
    await strict.close();
  }
});

test("one file of a report holds all of it: component and module in a page from disk", { skip }, async () => {
  const component = await readFile(join(web, "dist/component.js"), "utf8");
  const module = (await readFile(join(web, "build/sojourn.wasm"))).toString("base64");
  const text = `duration = "4 s"\n[link]\nrate = "7 Mbit/s"\naqm = "codel"\n[[flows]]\nkind = "tcp"\ncount = 2\n`;
  const data = JSON.stringify({ component, module, text }).replace(/</g, "\\u003c");
  const file = join(folder, "report.html");
  await writeFile(
    file,
    `<!doctype html><html lang="en"><title>report</title><main style="width: 640px"></main>
    <script type="application/json" id="data">${data}</script>
    <script type="module">
      const { component, module, text } = JSON.parse(document.getElementById("data").textContent);
      const address = URL.createObjectURL(new Blob([component], { type: "text/javascript" }));
      const { mount } = await import(address);
      const bytes = Uint8Array.from(atob(module), char => char.charCodeAt(0));
      window.remove = mount(document.querySelector("main"), { module: bytes, start: { text } });
    </script></html>`,
  );
  await page.goto(`file://${file}`);
  await settled(page);
  const known = faults.filter(fault => fault === `request to file://${file}`);
  faults.splice(0, faults.length, ...faults.filter(fault => !known.includes(fault)));
  assert.match((await fingerprints())[0], /^[0-9a-f]{16}$/);
  // It is laid out by its own width, not by the window's.
  const [left, right] = await page
    .locator(".side")
    .evaluateAll(all => all.map(side => side.getBoundingClientRect().left));
  assert.equal(left, right);
  await page.evaluate(() => window.remove());
  assert.equal(await page.locator("sojourn-lab").count(), 0);
});

test("no error was on the console, and no request went anywhere else", { skip }, () => {
  assert.deepEqual(faults, []);
});
