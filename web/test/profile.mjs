// CPU times of the page from the browser's trace: `npm run profile`. Prints a table; asserts nothing.
import { readFile, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { browse, missing, serve, settled } from "./browser.mjs";

const reason = missing();
if (reason) {
  console.log(`skipped: ${reason}`);
  process.exit(0);
}

/** CPU time in ms per thread of the page during `act`: thread times of top-level tasks. */
async function cpu(context, page, act) {
  const cdp = (await context.browser()?.newBrowserCDPSession?.()) ?? (await context.newCDPSession(page));
  const events = [];
  cdp.on("Tracing.dataCollected", ({ value }) => events.push(...value));
  await cdp.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: {
      includedCategories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "__metadata"],
    },
  });
  await act();
  const done = new Promise(resolve => cdp.once("Tracing.tracingComplete", resolve));
  await cdp.send("Tracing.end");
  await done;
  const names = new Map();
  for (const event of events) if (event.name === "thread_name") names.set(`${event.pid}:${event.tid}`, event.args.name);
  const sums = new Map();
  for (const event of events) {
    // Count only the scheduler's tasks; each has a nested event of the same duration.
    if (event.ph !== "X" || event.tdur === undefined || event.name !== "ThreadControllerImpl::RunTask") continue;
    const name = names.get(`${event.pid}:${event.tid}`) ?? "?";
    sums.set(name, (sums.get(name) ?? 0) + event.tdur / 1000);
  }
  const frames = events.filter(event => event.name === "FireAnimationFrame").length;
  return { main: sums.get("CrRendererMain") ?? 0, workers: sums.get("DedicatedWorker thread") ?? 0, sums, frames };
}

const server = await serve();
const { context, close } = await browse();
const page = context.pages()[0] ?? (await context.newPage());
const median = values => values.sort((a, b) => a - b)[values.length >> 1];
const show = (what, values) => console.log(`${what.padEnd(64)} ${values}`);
const number = value => value.toFixed(1).padStart(7);

try {
  const first = await cpu(context, page, async () => {
    await page.goto(`${server.address}#base=lab`);
    await settled(page);
  });
  show("first picture after load, ms of CPU (page, workers)", number(first.main) + number(first.workers));

  // Four flows, 60 s at 10 Mbit/s; B's target changes, so only B is rerun.
  await page.goto(`${server.address}#base=codel&b=codel`);
  await page.reload();
  await settled(page);
  const [mains, workers] = [[], []];
  for (let i = 0; i < 9; i++) {
    const once = await cpu(context, page, async () => {
      await page.evaluate(target => {
        document.querySelector("sojourn-lab").session.update({ b: `codel target ${target}ms` });
      }, 6 + i);
      await settled(page);
    });
    mains.push(once.main);
    workers.push(once.workers);
  }
  const [main, worker] = [median(mains), median(workers)];
  show(
    "one queue run again (60 s, 4 flows), all redrawn: page, worker, sum",
    number(main) + number(worker) + number(main + worker),
  );

  const seconds = 4;
  const live = await cpu(context, page, async () => {
    await page.evaluate(() => {
      const { session } = document.querySelector("sojourn-lab");
      session.state = { ...session.state, speed: 1, at_ns: 20e9 };
      session.play(true);
    });
    await page.waitForTimeout(seconds * 1000);
    await page.evaluate(() => document.querySelector("sojourn-lab").session.play(false));
  });
  show(
    `live at 1x: frames in ${seconds} s, ms of the page's CPU per frame`,
    number(live.frames) + number(live.main / live.frames),
  );
} finally {
  await close();
  server.close();
}
