// Headless Chromium and a server of dist/, for end-to-end tests and profiles.
import { createServer } from "node:http";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const web = join(dirname(fileURLToPath(import.meta.url)), "..");
const EXECUTABLE = process.env.SOJOURN_CHROMIUM ?? "/usr/bin/chromium";
const ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Content-Security-Policy of `sojourn lab`. */
const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data: blob:; connect-src 'self'; worker-src 'self' blob:";

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".json": "application/json",
};

/** Reason why end-to-end tests cannot run here; empty if they can. */
export function missing() {
  if (!existsSync(EXECUTABLE)) return `${EXECUTABLE} is missing (Debian: chromium)`;
  if (!existsSync(join(web, "dist/lab.js"))) return "web/dist is not built (make web)";
  if (!existsSync(join(web, "build/sojourn.wasm"))) return "the WebAssembly module is not built (make web)";
  return "";
}

/**
 * Serves the page on a free port. `start`: content of `start.json`, may change between visits; `native`: handler of
 * requests for native runs.
 */
export async function serve() {
  const state = { start: {}, native: null };
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, "http://localhost").pathname);
    try {
      if (request.method === "POST" && path === "/native") {
        const parts = [];
        for await (const part of request) parts.push(part);
        response.end(state.native(JSON.parse(Buffer.concat(parts).toString())));
        return;
      }
      const name = path === "/" ? "/index.html" : path;
      const file = name === "/sojourn.wasm" ? join(web, "build/sojourn.wasm") : join(web, "dist", name);
      const body = name === "/start.json" ? JSON.stringify(state.start) : await readFile(file);
      response.writeHead(200, {
        "content-type": TYPES[extname(name)] ?? "text/plain",
        "content-security-policy": POLICY,
      });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise(resolve => server.listen(0, "127.0.0.1", resolve));
  return { state, address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

/** Starts a browser with a temporary profile. */
export async function browse(options = {}) {
  const profile = await mkdtemp(join(tmpdir(), "sojourn-lab-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: EXECUTABLE,
    args: ARGUMENTS,
    viewport: { width: 1280, height: 800 },
    acceptDownloads: true,
    ...options,
  });
  return {
    context,
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}

/** Waits until both queues have been simulated and drawn. */
export async function settled(page) {
  await page.waitForFunction(() => {
    const session = document.querySelector("sojourn-lab")?.session;
    return session?.runs.a && session.runs.b && !session.isBusy;
  });
  await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
}
