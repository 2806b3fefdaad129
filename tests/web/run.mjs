// Runs scenarios in the module: a list of { text, seed, files } as JSON on standard input, fingerprints as JSON out.
// Files are base64.

import { readFileSync } from "node:fs";
import { fromBase64, load } from "../../web/src/core/core.js";

const [, , module] = process.argv;
const core = await load(readFileSync(module));
const found = [];
for (const { text, seed, files = {} } of JSON.parse(readFileSync(0, "utf8"))) {
  const given = Object.fromEntries(Object.entries(files).map(([name, data]) => [name, fromBase64(data)]));
  const run = await core.open(text, { seed, files: given, packets: false });
  found.push(run.finish().fingerprint);
}
process.stdout.write(JSON.stringify(found));
