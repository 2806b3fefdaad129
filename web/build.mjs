// Bundles the page: `node build.mjs` into dist/, `node build.mjs --tests` the unit tests into build/test/.
import { build } from "esbuild";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const sojourn = join(here, "../python/sojourn");
const tests = process.argv.includes("--tests");
const minify = !process.argv.includes("--plain");

/** Shipped scenarios of a single run; studies, drawn keys and traces are not supported by the page. */
async function scenarios() {
  const folder = join(sojourn, "model/scenarios/shipped");
  const names = (await readdir(folder)).filter(name => name.endsWith(".toml")).sort();
  const all = await Promise.all(
    names.map(async name => ({ name: name.replace(/\.toml$/, ""), text: await readFile(join(folder, name), "utf8") })),
  );
  return all.filter(({ text }) => !/^\[(sweep|draw)|^(trace|file|extends)\s*=/m.test(text));
}

/** Published values of the papers on the page. */
async function claims() {
  const all = JSON.parse(await readFile(join(sojourn, "papers/claims.json"), "utf8"));
  return all.filter(claim => claim.kind !== "relation" && claim.engine === "simulate");
}

async function worker() {
  const { outputFiles } = await build({
    ...common,
    entryPoints: [join(here, "src/sim/worker.ts")],
    write: false,
    format: "iife",
  });
  return outputFiles[0].text;
}

async function styles() {
  const folder = join(here, "src/style");
  const names = (await readdir(folder)).filter(name => name.endsWith(".css")).sort();
  const css = (await Promise.all(names.map(name => readFile(join(folder, name), "utf8")))).join("\n");
  const { outputFiles } = await build({ stdin: { contents: css, loader: "css" }, write: false, minify });
  return outputFiles[0].text;
}

const made = { scenarios, claims, worker, styles };
const asModule = value => `export default ${JSON.stringify(value)}`;

const virtual = {
  name: "virtual",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^virtual:/ }, ({ path }) => ({ path: path.slice("virtual:".length), namespace: "virtual" }));
    onLoad({ filter: /.*/, namespace: "virtual" }, async ({ path }) => ({ contents: asModule(await made[path]()) }));
  },
};

const common = {
  bundle: true,
  target: "es2022",
  minify,
  plugins: [virtual],
  absWorkingDir: here,
  legalComments: "none",
};

if (tests) {
  const names = (await readdir(join(here, "test"))).filter(name => name.endsWith(".test.ts"));
  await rm(join(here, "build/test"), { recursive: true, force: true });
  await build({
    ...common,
    minify: false,
    entryPoints: names.map(name => join(here, "test", name)),
    outdir: join(here, "build/test"),
    outExtension: { ".js": ".mjs" },
    format: "esm",
    platform: "node",
  });
} else {
  const dist = join(here, "dist");
  await rm(dist, { recursive: true, force: true });
  await mkdir(dist, { recursive: true });
  await build({ ...common, entryPoints: [join(here, "src/page.ts")], outfile: join(dist, "lab.js"), format: "iife" });
  await build({
    ...common,
    entryPoints: [join(here, "src/component.ts")],
    outfile: join(dist, "component.js"),
    format: "esm",
  });
  await writeFile(join(dist, "lab.css"), await readFile(join(here, "src/page.css"), "utf8"));
  await cp(join(here, "src/index.html"), join(dist, "index.html"));
}
