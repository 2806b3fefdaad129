// Fixtures of the end-to-end tests. Each file has its own browser and server.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browse, missing, serve, settled } from "../browser.mjs";

/** Reason why the tests cannot run here; false if they can. */
export const skip = missing() || false;

/** Fixtures of a test file, set before its tests. */
export const here = { server: null, browser: null, page: null, folder: "" };

/** Errors on the console, and requests to other hosts: must stay empty. */
export const faults = [];

before(async () => {
  if (skip) return;
  here.folder = await mkdtemp(join(tmpdir(), "sojourn-e2e-"));
  here.server = await serve();
  // The tests evaluate text, so bypass the policy here; another test checks the policy itself.
  here.browser = await browse({ bypassCSP: true });
  const [page] = here.browser.context.pages();
  here.page = page;
  page.setDefaultTimeout(60_000);
  page.on("console", message => message.type() === "error" && faults.push(message.text()));
  page.on("pageerror", error => faults.push(error.message));
  page.on("request", request => {
    const url = request.url();
    if (!url.startsWith(here.server.address) && !/^(blob|data|about):/.test(url)) faults.push(`request to ${url}`);
  });
});

after(async () => {
  await here.browser?.close();
  here.server?.close();
  if (here.folder) await rm(here.folder, { recursive: true, force: true });
});

/** Opens a URL of the page in a fresh state. */
export async function visit(hash) {
  await here.page.goto("about:blank");
  await here.page.goto(here.server.address + hash);
  await settled(here.page);
}

/** Calls a function with the page's session. */
export const session = (read, argument) =>
  here.page.evaluate(
    ([text, value]) =>
      new Function("session", "value", `return (${text})(session, value)`)(
        document.querySelector("sojourn-lab").session,
        value,
      ),
    [String(read), argument],
  );

export const fingerprints = () => session(({ runs }) => [runs.a.outcome.fingerprint, runs.b.outcome.fingerprint]);

/** The last test of each file. */
export const nothingWentWrong = () =>
  test("no error was on the console, and no request went anywhere else", { skip }, () => {
    assert.deepEqual(faults, []);
  });
