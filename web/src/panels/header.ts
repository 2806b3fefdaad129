/** Header: presets, files, theme and error messages. */

import { fill, h, setText } from "../base/dom.js";
import type { Session } from "../app/session.js";
import { LESSONS } from "../lessons/index.js";
import { PRESETS } from "../model/presets.js";
import { CASES } from "../papers/index.js";

export interface HeaderHost {
  toggleTheme(): void;
  address(): string;
  openFile(file: File): void;
  /** Saves all plots as one picture. */
  savePicture(): void;
}

export class Header {
  readonly element: HTMLElement;
  private readonly choice: HTMLSelectElement;
  private readonly name = h("span", { class: "name" });
  private readonly busy = h("progress", { max: 1, "aria-label": "Simulating" });
  private readonly errors = h("div", { class: "errors", role: "alert" });

  constructor(
    private readonly session: Session,
    host: HeaderHost,
  ) {
    const group = (label: string, entries: readonly (readonly [string, string])[]): HTMLElement =>
      h("optgroup", { label }, ...entries.map(([id, title]) => h("option", { value: id }, title)));
    const [first, ...shipped] = PRESETS;
    this.choice = h(
      "select",
      { "aria-label": "Begin with" },
      h("option", { value: "" }, "own scenario"),
      group("Start", [[first!.id, first!.title]]),
      group(
        "Lessons",
        LESSONS.map(({ id, title }, i) => [`lesson-${id}`, `${i + 1}. ${title}`] as const),
      ),
      group(
        "Published results",
        CASES.map(({ id, title }) => [`paper-${id}`, title] as const),
      ),
      group(
        "Scenarios that come with Sojourn",
        shipped.map(({ id, title }) => [id, `${id}: ${title}`] as const),
      ),
    );
    this.choice.addEventListener("change", () => this.choice.value && session.choose(this.choice.value));
    const file = h("input", {
      type: "file",
      accept: ".toml,.json,.down,.up,.trace",
      class: "sr",
      "aria-label": "Open a scenario or a trace",
      tabindex: -1,
    });
    file.addEventListener("change", () => {
      const chosen = file.files?.[0];
      if (chosen) host.openFile(chosen);
      file.value = "";
    });
    const copy = h("button", { type: "button" }, "Copy link");
    copy.addEventListener("click", () => {
      void navigator.clipboard.writeText(host.address()).then(
        () => setText(copy, "Copied"),
        () => setText(copy, "It is in the address bar"),
      );
      setTimeout(() => setText(copy, "Copy link"), 2000);
    });
    this.element = h(
      "header",
      { class: "top" },
      h("h1", {}, "Sojourn lab"),
      this.choice,
      this.name,
      this.busy,
      h(
        "span",
        { class: "buttons" },
        h("button", { type: "button", onclick: () => file.click() }, "Open"),
        file,
        copy,
        h("button", { type: "button", onclick: () => host.savePicture() }, "Save plots"),
        h(
          "button",
          { type: "button", "aria-label": "Dark or light", title: "Dark or light", onclick: () => host.toggleTheme() },
          "◐",
        ),
      ),
      this.errors,
    );
    session.on(["state"], () => this.update());
    session.on(["progress", "runs"], () => this.showProgress());
    session.on(["errors"], () => this.showErrors());
  }

  private update(): void {
    const { state } = this.session;
    const known = [...this.choice.options].some(option => option.value === state.base);
    this.choice.value = known ? state.base : "";
    const name = state.doc["name"] || this.session.title;
    setText(this.name, typeof name === "string" && this.choice.value === "" ? name : "");
  }

  private showProgress(): void {
    const { progress } = this.session;
    const open = [progress.a, progress.b].filter(share => share !== null);
    this.busy.classList.toggle("on", open.length > 0);
    this.busy.value = open.length ? Math.min(...open) : 1;
  }

  private showErrors(): void {
    const { errors } = this.session;
    const texts = [...new Set([errors.a, errors.b].filter(Boolean))];
    fill(this.errors, ...texts.map(text => h("p", {}, text)));
    this.errors.hidden = !texts.length;
  }

  /** Shows an error that does not come from a simulator. */
  showError(text: string): void {
    fill(this.errors, h("p", {}, text));
    this.errors.hidden = !text;
  }
}
