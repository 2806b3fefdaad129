// Packets per CPU second of the module, and what the page waits for: `node tests/web/speed.mjs [MODULE]` after `make web`.
// The same scenarios run natively with `cargo run --release -p sojourn-web --example speed`, alternately; take medians.

import { readFileSync } from "node:fs";
import { load } from "../../web/src/core/core.js";

const module = process.argv[2] ?? new URL("../../web/build/sojourn.wasm", import.meta.url);
const core = await load(readFileSync(module));
const scenarios = JSON.parse(readFileSync(new URL("speed.json", import.meta.url), "utf8"));

for (const [name, text] of Object.entries(scenarios)) {
  await measure(name, text); // compiled by the browser's fast compiler on the way
  const rates = [];
  for (let i = 0; i < 5; i++) rates.push(await measure(name, text));
  rates.sort((a, b) => a - b);
  console.log(`${name}: ${Math.round(rates[2])} packets per CPU-s (${rates.map(Math.round).join(", ")})`);
}

async function measure(name, text) {
  const run = await core.open(text, { packets: false });
  const before = process.cpuUsage();
  const { summary } = run.finish();
  const { user, system } = process.cpuUsage(before);
  return (1e6 * summary.links.forward.packets) / (user + system);
}
