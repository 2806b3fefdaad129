// Controls of the page and their effects.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fingerprints, here, nothingWentWrong, session, skip, visit } from "./visitor.mjs";
import { settled } from "../browser.mjs";

test("moving a slider reruns and redraws", { skip }, async () => {
  await visit("#base=lab&duration=8+s&warmup=1+s");
  const before = await fingerprints();
  const picture = () => here.page.locator(".plot[data-plot=sojourn] canvas").evaluate(canvas => canvas.toDataURL());
  const old = await picture();
  const slider = here.page.locator('[data-field="link.rate"] input[type=range]');
  await slider.focus();
  for (let i = 0; i < 9; i++) await slider.press("ArrowLeft");
  await settled(here.page);
  const now = await fingerprints();
  assert.notEqual(now[0], before[0]);
  assert.notEqual(now[1], before[1]);
  assert.notEqual(await picture(), old);
  const text = await here.page.locator('[data-field="link.rate"] input[type=text]').inputValue();
  assert.match(text, /^[\d.]+ Mbit\/s$/);
  assert.equal(await session(lab => lab.state.doc.link.rate), text);
});

test("a parameter of B changes only B", { skip }, async () => {
  await visit("#base=lab&duration=8+s&warmup=1+s");
  const before = await fingerprints();
  await here.page.locator(".side-b summary").first().click();
  const field = here.page.locator('[data-field="b.target"] input[type=text]');
  await field.fill("21 ms");
  await field.press("Enter");
  await settled(here.page);
  const now = await fingerprints();
  assert.equal(now[0], before[0]);
  assert.notEqual(now[1], before[1]);
  assert.equal(await session(lab => lab.state.b), "codel target 21ms");
  const slider = here.page.locator('[data-field="b.target"] input[type=range]');
  await slider.focus();
  await slider.press("ArrowRight");
  const moved = parseFloat(await field.inputValue());
  assert.ok(moved > 21 && moved < 23, String(moved));
});

test("a control moved during playback becomes a change from the playhead on", { skip }, async () => {
  await visit("#base=lab&duration=8+s&warmup=1+s&at=3s&speed=0.01");
  await here.page.getByRole("button", { name: "Play (space)" }).click();
  const slider = here.page.locator('[data-field="link.rate"] input[type=range]');
  await slider.focus();
  await slider.press("ArrowLeft");
  await here.page.getByRole("button", { name: "Pause (space)" }).click();
  await settled(here.page);
  const [change] = await session(lab => lab.state.changes);
  assert.equal(change.set, "link.rate");
  assert.ok(change.at_ns >= 3e9 && change.at_ns < 4e9);
  assert.match(await session(({ runs }) => runs.a.outcome.text), /\[\[changes\]\]/);
  assert.equal(await session(lab => lab.state.doc.link.rate), "10 Mbit/s");
});

test("stepping moves from packet to packet, and back", { skip }, async () => {
  await visit("#base=lab&duration=8+s&warmup=1+s&at=2s");
  const at = () => session(lab => lab.state.at_ns);
  const instants = [await at()];
  for (let i = 0; i < 4; i++) {
    await here.page.getByRole("button", { name: "One packet on" }).click();
    instants.push(await at());
  }
  for (let i = 1; i < instants.length; i++)
    assert.ok(instants[i] > instants[i - 1] && instants[i] - instants[i - 1] < 5e6);
  await here.page.evaluate(() => document.activeElement.blur());
  await here.page.keyboard.press("ArrowLeft");
  assert.equal(await at(), instants[3]);
  await here.page.keyboard.press(" ");
  assert.equal(await session(lab => lab.playing), true);
  await here.page.keyboard.press(" ");
  assert.equal(await session(lab => lab.playing), false);
});

test("without a hash the page starts playback", { skip }, async () => {
  await visit("");
  await here.page.waitForFunction(() => document.querySelector("sojourn-lab").session.state.at_ns > 20.05e9);
  assert.equal(await session(lab => lab.playing), true);
  await here.page.getByRole("button", { name: "Pause (space)" }).click();
  // From the start as well.
  await session(lab => lab.seek(0));
  await here.page.getByRole("button", { name: "Play (space)" }).click();
  await here.page.waitForFunction(() => document.querySelector("sojourn-lab").session.snapshots.b?.at_ns > 0.1e9);
  assert.deepEqual(await session(lab => lab.errors), { a: "", b: "" });
});

test("scrubbing back shows the same queue", { skip }, async () => {
  await visit("#base=lab&duration=8+s&warmup=1+s&at=6s");
  const snapshots = async () => {
    await here.page.waitForFunction(() => {
      const { snapshots, state } = document.querySelector("sojourn-lab").session;
      return snapshots.a?.at_ns === state.at_ns && snapshots.b?.at_ns === state.at_ns;
    });
    return session(({ snapshots }) => [snapshots.a.link.backlog_packets, snapshots.b.link.state]);
  };
  const scrub = here.page.getByRole("slider", { name: "Time in the run" });
  const first = await snapshots();
  await scrub.fill("300");
  const early = await snapshots();
  assert.notDeepEqual(early, first);
  await session(lab => lab.seek(6e9));
  assert.deepEqual(await snapshots(), first);
  // The recorded packets and the simulator agree on the backlog.
  assert.equal(await session(({ runs, state }) => runs.a.index.waiting(state.at_ns).length), first[0]);
});

test("the first different packet is found, shown, and explained", { skip }, async () => {
  await visit("#base=lab&duration=8+s&warmup=1+s");
  await here.page.getByRole("button", { name: /^First difference: packet/ }).click();
  const first = await session(lab => lab.first);
  assert.equal(await session(lab => lab.state.at_ns), first.at_ns);
  await here.page.locator(".packet h3").waitFor();
  assert.match(await here.page.locator(".packet").innerText(), /number \d+ of flow/);
});

test("a dropped packet shows its reason", { skip }, async () => {
  await visit("#base=lab&duration=12+s&at=9s&scales=own");
  await here.page.getByRole("button", { name: "Last drop: why?" }).last().click();
  await here.page.waitForFunction(() => document.querySelector("sojourn-lab").session.before);
  assert.match(await here.page.locator(".packet p").innerText(), /above the target|count = \d/);
  await here.page.getByRole("button", { name: "Last drop: why?" }).first().click();
  assert.match(await here.page.locator(".packet p").innerText(), /buffer was full/);
  // Click a packet where it is drawn: the head of B's queue.
  await here.page.keyboard.press("Escape");
  await here.page.locator(".packet").waitFor({ state: "hidden" });
  const canvas = here.page.locator(".side-b canvas");
  const { width } = await canvas.boundingBox();
  await canvas.click({ position: { x: Math.round(width * 0.66) - 6, y: 72 } });
  const head = await session(({ runs, selection, state }) => [selection, runs.b.index.waiting(state.at_ns)[0]]);
  assert.deepEqual(head[0], { side: "b", row: head[1] });
});
test("a URL restores the whole state", { skip }, async () => {
  await visit("#base=lab&duration=6+s&warmup=1+s");
  await session(lab => {
    lab.update({
      b: "pie target 7ms",
      speed: 0.01,
      changes: [{ at_ns: 2e9, side: "a", set: "link.limit", value: "77 packets" }],
    });
    lab.seek(3_456_789_012);
  });
  await settled(here.page);
  await here.page.waitForFunction(() => location.hash.includes("at=3.456789012s"));
  const [hash, state, prints] = [
    await here.page.evaluate(() => location.hash),
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
    const [download] = await Promise.all([here.page.waitForEvent("download"), locator.click()]);
    return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
  };
  const toml = await save(here.page.getByRole("button", { name: "TOML" }).first());
  assert.equal(toml.name, "four-downloads-and-a-call-a.toml");
  assert.match(toml.bytes.toString(), /^name = "four downloads and a call"/);
  // Comments of the source text are kept, with the changes applied.
  await visit("#base=codel&duration=11+s&b=pie+target+7ms");
  await session(lab => lab.update({ changes: [{ at_ns: 4e9, side: "b", set: "link.rate", value: "3 Mbit/s" }] }));
  await settled(here.page);
  const second = (await save(here.page.getByRole("button", { name: "TOML" }).last())).bytes.toString();
  assert.match(second, /^# The same traffic as in bufferbloat.toml/);
  assert.match(second, /duration = "11 s"[^]*aqm = "pie target 7ms"[^]*\[\[changes\]\]\nat = "4 s"/);
  const figure = here.page.locator(".plot[data-plot=cdf]");
  const svg = await save(figure.getByRole("button", { name: "SVG" }));
  assert.match(svg.bytes.toString(), /^<svg [^]*share of packets[^]*<\/svg>\n$/);
  const png = await save(figure.getByRole("button", { name: "PNG" }));
  assert.equal(png.bytes.subarray(1, 4).toString(), "PNG");
});

test("a trace dropped onto the page replaces the link's rate", { skip }, async () => {
  await visit("#base=lab&duration=6+s&warmup=1+s");
  const before = await fingerprints();
  // 3 delivery opportunities per 4 ms, repeated: 9 Mbit/s.
  const chooser = here.page.waitForEvent("filechooser");
  await here.page.getByRole("button", { name: "Open", exact: true }).click();
  await (await chooser).setFiles({ name: "three.down", mimeType: "text/plain", buffer: Buffer.from("1\n2\n4\n") });
  await settled(here.page);
  const now = await fingerprints();
  assert.notEqual(now[0], before[0]);
  const rate = await session(({ runs }) => runs.a.outcome.summary.goodput_bps);
  assert.ok(rate > 8e6 && rate < 9e6, String(rate));
  assert.match(await here.page.locator(".trace").innerText(), /three\.down/);
  // The same by dropping a file: one opportunity per ms, 12 Mbit/s.
  await here.page.locator("main").evaluate(main => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["1\n"], "one.down"));
    main.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, composed: true, cancelable: true }));
  });
  await here.page.locator(".trace").getByText("one.down").waitFor();
  await settled(here.page);
  const faster = await session(({ runs }) => runs.a.outcome.summary.goodput_bps);
  assert.ok(faster > 11e6 && faster < 12e6, String(faster));
});

test("errors have a place and a remedy, and the last valid run stays", { skip }, async () => {
  await visit("#base=lab&duration=6+s&warmup=1+s");
  const before = await fingerprints();
  await session(lab =>
    lab.update(state => ({ ...state, doc: { ...state.doc, link: { ...state.doc.link, rate: "10" } } })),
  );
  const alert = here.page.getByRole("alert");
  await alert.getByText("link.rate").waitFor();
  assert.match(await alert.innerText(), /10 Mbit\/s/);
  assert.deepEqual(await fingerprints(), before);
  await session(lab =>
    lab.update(state => ({ ...state, doc: { ...state.doc, link: { ...state.doc.link, rate: "9 Mbit/s" } } })),
  );
  await settled(here.page);
  await alert.waitFor({ state: "hidden" });
});

test("names from scenarios are always text, never markup", { skip }, async () => {
  const name = `<script>window.hit = 1</script><img src=x onerror="window.hit = 1">`;
  here.server.state.start = {
    name,
    text: `name = ${JSON.stringify(name)}\nduration = "3 s"\n[link]\nrate = "3 Mbit/s"\naqm = "codel"\n[[flows]]\nkind = "tcp"\n`,
  };
  try {
    await visit("");
    assert.equal(await here.page.locator("header .name").innerText(), name);
    assert.equal(await here.page.evaluate(() => window.hit), undefined);
    assert.equal(await here.page.locator("header img, header script").count(), 0);
    await visit(await here.page.evaluate(() => location.hash));
    assert.equal(await here.page.evaluate(() => window.hit), undefined);
  } finally {
    here.server.state.start = {};
  }
});

nothingWentWrong();
