/** Page of `sojourn lab`: the lab element, started with the module and `start.json` beside the page. */

import type { Start } from "./core/core.js";
import { define, type SojournLab } from "./element.js";

async function begin(): Promise<void> {
  define();
  const lab = document.querySelector("sojourn-lab") as SojournLab;
  lab.addressed = true;
  const [module, start] = await Promise.all([
    WebAssembly.compileStreaming(fetch("sojourn.wasm")).catch(async () =>
      WebAssembly.compile(await (await fetch("sojourn.wasm")).arrayBuffer()),
    ),
    fetch("start.json").then(
      async answer => (answer.ok ? ((await answer.json()) as Start) : {}),
      () => ({}),
    ),
  ]);
  await lab.begin(module, start);
}

void begin();
