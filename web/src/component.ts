/** The page as one self-contained module, which reports and notebooks embed. */

import type { Start } from "./core/core.js";
import { define, SojournLab } from "./element.js";

export { SojournLab };

define();

/** Puts the lab into an element. What it returns takes it away again. */
export function mount(element: HTMLElement, options: { module: BufferSource; start: Start }): () => void {
  const lab = document.createElement("sojourn-lab") as SojournLab;
  element.append(lab);
  void lab.begin(options.module, options.start);
  return () => lab.remove();
}
