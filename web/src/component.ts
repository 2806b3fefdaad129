/** The page as one self-contained module, embedded in reports and notebooks. */

import type { Start } from "./core/core.js";
import { define, SojournLab } from "./element.js";

export { SojournLab };

define();

/** Mounts the lab in an element and returns a function that removes it. */
export function mount(element: HTMLElement, options: { module: BufferSource; start: Start }): () => void {
  const lab = document.createElement("sojourn-lab") as SojournLab;
  element.append(lab);
  void lab.begin(options.module, options.start);
  return () => lab.remove();
}
