// Lessons, published results, accessibility and layout.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { browse } from "../browser.mjs";
import { faults, fingerprints, here, nothingWentWrong, session, skip, visit } from "./visitor.mjs";
import { settled, web } from "../browser.mjs";

test("moving the slider answers a lesson's question", { skip }, async () => {
  await visit("#base=lesson-tail-drop");
  const says = here.page.locator(".says");
  await says.getByText("Not there yet").waitFor();
  const slider = here.page.locator('[data-field="lesson.link.limit"] input[type=range]');
  for (let i = 0; i < 40 && !(await says.innerText()).includes("Right"); i++) {
    for (let k = 0; k < 5; k++) await slider.press("ArrowLeft");
    await settled(here.page);
  }
  assert.match(await says.innerText(), /Right/);
});

/** Solution of each lesson: a key of the scenario, or a parameter of a side. */
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
  ecn: lab => lab.update({ b: "codel ecn target 3ms" }),
  l4s: lab =>
    lab.update({ doc: { ...lab.state.doc, link: { ...lab.state.doc.link, aqm: "dualpi2 coupling_factor 3.1" } } }),
};

for (const [id, solve] of Object.entries(SOLUTIONS))
  test(`lesson ${id}: the question is open at first, and has an answer`, { skip }, async () => {
    await visit(`#base=lesson-${id}`);
    const says = () => here.page.locator(".says").innerText();
    assert.match(await says(), /\d.*Not there yet/);
    await session(solve);
    await settled(here.page);
    assert.match(await says(), /^✓ Right\. .*\d/);
  });

test(
  "question, slider and answer of every lesson are in one view, and packets wait when it begins",
  { skip },
  async () => {
    for (const [width, height] of [
      [1280, 800],
      [1920, 1080],
      [390, 844],
    ]) {
      await here.page.setViewportSize({ width, height });
      for (const [id, solve] of Object.entries(SOLUTIONS)) {
        await visit(`#base=lesson-${id}`);
        const waiting = await session(({ runs, state }) =>
          ["a", "b"].map(s => runs[s].index.waiting(state.at_ns).length),
        );
        assert.ok(waiting[0] > 0 && waiting[1] > 0, `${id}: ${waiting} packets wait`);
        await session(solve);
        await settled(here.page);
        await here.page.locator(".after").getByText(/./).waitFor();
        const seen = await here.page.locator(".guide .question").evaluate(box =>
          [box.querySelector("b"), box.querySelector("input[type=range]"), box.querySelector(".says")].map(element => {
            const { top, bottom, left, right } = element.getBoundingClientRect();
            return top >= 0 && bottom <= innerHeight && left >= 0 && right <= innerWidth;
          }),
        );
        assert.deepEqual(seen, [true, true, true], `${id} at ${width} × ${height}`);
        const value = await here.page.locator(".guide .question input[type=text]").inputValue();
        assert.match(value, /\d/, "the slider shows what it is about");
      }
    }
    await here.page.setViewportSize({ width: 1280, height: 800 });
  },
);

test("A and B share a scale unless set otherwise, and the buffer's end is drawn", { skip }, async () => {
  const drawn = key =>
    here.page.locator(".queue canvas").evaluateAll((all, name) => all.map(canvas => canvas.dataset[name]), key);
  await visit("#base=lab&duration=12+s&warmup=3+s&at=9s&link.rate=7.3+Mbit%2Fs&link.limit=213+packets");
  const [a, b] = await drawn("span");
  assert.equal(a, b);
  assert.deepEqual(await drawn("buffer"), Array(2).fill(String(Number(((213 * 1500 * 8) / 7.3e3).toPrecision(4)))));
  await here.page.getByLabel("one scale").uncheck();
  const [own, other] = (await drawn("span")).map(Number);
  assert.ok(own > 5 * other, `${own} and ${other} ms`);
  await here.page.waitForFunction(() => location.hash.includes("scales=own"));
  await visit(await here.page.evaluate(() => location.hash));
  assert.deepEqual((await drawn("span")).map(Number), [own, other], "it is in the address");
  await visit("#base=lab&duration=6+s&warmup=1+s&link.limit=%5B%22900+packets%22%2C%2290+kB%22%5D");
  assert.deepEqual(await drawn("buffer"), ["72", "72"], "the least of several limits");
});

test("published values are shown with those of the run", { skip }, async () => {
  await visit("#base=paper-table1-4-pie");
  const rows = here.page.locator(".guide tbody tr");
  assert.equal(await rows.count(), 4);
  assert.match(await rows.first().innerText(), /8\.79 ms/);
  const verdicts = await rows.evaluateAll(all => all.map(row => row.dataset.verdict));
  assert.ok(
    verdicts.every(verdict => verdict === "tight" || verdict === "loose"),
    verdicts.join(),
  );
});

test("no serious accessibility violation (axe)", { skip }, async () => {
  const axe = await readFile(join(web, "node_modules/axe-core/axe.min.js"), "utf8");
  for (const [hash, colorScheme] of [
    ["#base=lesson-l4s&duration=6+s&warmup=1+s", "light"],
    ["#base=paper-table1-4-pie&duration=12+s", "dark"],
  ]) {
    await here.page.emulateMedia({ colorScheme });
    await visit(hash);
    await here.page.evaluate(axe);
    await here.page.evaluate(() => {
      for (const details of document.querySelector("sojourn-lab").shadowRoot.querySelectorAll("details"))
        details.open = true;
    });
    const { violations } = await here.page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    assert.deepEqual(
      serious.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(node => node.html.slice(0, 160))]),
      [],
    );
  }
  await here.page.emulateMedia({ colorScheme: null });
});

test("on a phone nothing is wider than the screen", { skip }, async () => {
  await here.page.setViewportSize({ width: 390, height: 844 });
  await visit("#base=lab&duration=6+s&warmup=1+s");
  const [inner, whole] = await here.page.evaluate(() => [innerWidth, document.documentElement.scrollWidth]);
  assert.equal(whole, inner);
  await here.page.setViewportSize({ width: 1280, height: 800 });
});

test("the page obeys its policy: no inline script, no eval", { skip }, async () => {
  const strict = await browse();
  try {
    const visitor = strict.context.pages()[0];
    const text = [];
    visitor.on("console", message => message.type() === "error" && text.push(message.text()));
    await visitor.goto(`${here.server.address}#base=lab&duration=3+s&warmup=1+s`);
    await settled(visitor);
    assert.deepEqual(text, []);
  } finally {
    await strict.close();
  }
});

test("a report is self-contained: component and module in a page from disk", { skip }, async () => {
  const component = await readFile(join(web, "dist/component.js"), "utf8");
  const module = (await readFile(join(web, "build/sojourn.wasm"))).toString("base64");
  const text = `duration = "4 s"\n[link]\nrate = "7 Mbit/s"\naqm = "codel"\n[[flows]]\nkind = "tcp"\ncount = 2\n`;
  const data = JSON.stringify({ component, module, text }).replace(/</g, "\\u003c");
  const file = join(here.folder, "report.html");
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
  await here.page.goto(`file://${file}`);
  await settled(here.page);
  const known = faults.filter(fault => fault === `request to file://${file}`);
  faults.splice(0, faults.length, ...faults.filter(fault => !known.includes(fault)));
  assert.match((await fingerprints())[0], /^[0-9a-f]{16}$/);
  // The layout follows the element's width, not the window's.
  const [left, right] = await here.page
    .locator(".side")
    .evaluateAll(all => all.map(side => side.getBoundingClientRect().left));
  assert.equal(left, right);
  await here.page.evaluate(() => window.remove());
  assert.equal(await here.page.locator("sojourn-lab").count(), 0);
});

nothingWentWrong();
