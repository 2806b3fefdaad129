// A visitor of the page: what the end-to-end tests share. Each file has a browser and a server of its own.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browse, missing, serve, settled } from "../browser.mjs";

/** Why there can be no test here; false where there can. */
export const skip = missing() || false;

/** What the tests of a file work with, once they run. */
export const here = { server: null, browser: null, page: null, folder: "" };

/** What must not happen: errors on the console, and requests to anywhere else. */
export const faults = [];

before(async () => {
  if (skip) return;
  here.folder = await mkdtemp(join(tmpdir(), "sojourn-e2e-"));
  here.server = await serve();
  // Evaluating text is for these tests alone; the page's own policy is what the test of the policy looks at.
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

/** Goes to an address of the page as a new visitor. */
export async function visit(hash) {
  await here.page.goto("about:blank");
  await here.page.goto(here.server.address + hash);
  await settled(here.page);
}

/** What a function reads of the page's session, or does with it. */
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
