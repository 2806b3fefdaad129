/**
 * `<sojourn-lab>`: the page as a custom element, for documents, reports and notebooks. Attribute or property `scenario`
 * is the text of a scenario.
 */

import { decodePayload, fromBase64, type Start } from "./core/core.js";
import css from "virtual:styles";
import { Lab } from "./app/lab.js";
import { Session, startState } from "./app/session.js";
import { fill, h } from "./base/dom.js";
import { presetState } from "./model/presets.js";
import { isJson } from "./model/toml.js";
import { decode, encode } from "./model/url.js";

let sheet: CSSStyleSheet | null = null;

function styles(): CSSStyleSheet {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
  }
  return sheet;
}

export class SojournLab extends HTMLElement {
  static readonly observedAttributes = ["scenario"];
  private readonly root = this.attachShadow({ mode: "open" });
  private lab: Lab | null = null;
  private compiled: WebAssembly.Module | null = null;
  private started: Start = {};
  /** Whether the state is kept in the URL; not so for an embedded lab. */
  addressed = false;

  constructor() {
    super();
    this.root.adoptedStyleSheets = [styles()];
  }

  /** The scenario's text. */
  get scenario(): string {
    return this.getAttribute("scenario") ?? "";
  }

  set scenario(text: string) {
    this.setAttribute("scenario", text);
  }

  attributeChangedCallback(): void {
    if (this.lab) this.attempt(() => this.lab!.session.openText(this.scenario));
    else this.started = { ...this.started, text: this.scenario };
  }

  /** The session, for tests and scripts. */
  get session(): Session | null {
    return this.lab?.session ?? null;
  }

  private attempt(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.refuse(error instanceof Error ? error.message : String(error));
    }
  }

  private refuse(message: string): void {
    fill(this.root, h("p", { class: "refused", role: "alert" }, message));
  }

  /** Starts the lab; `module` is compiled or bytes. */
  async begin(module: WebAssembly.Module | BufferSource, start: Start): Promise<void> {
    fill(this.root, h("p", { class: "refused" }, "The simulator is being loaded …"));
    try {
      this.compiled = module instanceof WebAssembly.Module ? module : await WebAssembly.compile(module);
      await this.open({ ...this.started, ...start });
    } catch (error) {
      this.refuse(error instanceof Error ? error.message : String(error));
    }
  }

  private async open(start: Start): Promise<void> {
    if (start.error) {
      this.refuse(start.error);
      return;
    }
    const { state, files } = startState(start);
    const first = this.addressed && location.hash.length > 1 ? decode(location.hash, presetState, state) : state;
    const session = new Session(this.compiled!, first);
    session.files = files;
    session.source = start.text !== undefined && !isJson(start.text) ? start.text : null;
    session.title = start.name ?? "";
    session.native = start.native === undefined ? null : new URL(start.native, location.href).href;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    this.lab = new Lab(session, {
      address: hash => (this.addressed ? new URL(hash, location.href).href : hash),
      theme: theme => this.setAttribute("theme", theme),
      keys: this.addressed ? document : null,
    });
    await session.load();
    await this.playback(start, session);
    fill(this.root, this.lab.element);
    const theme = this.getAttribute("theme");
    this.lab.setTheme(theme === "dark" || (!theme && dark.matches) ? "dark" : "light");
    session.notify("state", "time");
    session.simulate();
    if (this.addressed) this.follow(session);
    if (this.addressed && !location.hash) this.autoplay(session);
  }

  /** Starts playback once both runs are there, unless the user prefers reduced motion. */
  private autoplay(session: Session): void {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    let begun = false;
    session.on(["runs"], () => {
      if (begun || !session.runs.a || !session.runs.b) return;
      begun = true;
      session.play(true);
    });
  }

  /** Shows a result from disk or from a native run; its scenario is run again here if the browser can. */
  private async playback(start: Start, session: Session): Promise<void> {
    if (!start.payload) return;
    const bytes =
      "base64" in start.payload
        ? fromBase64(start.payload.base64)
        : new Uint8Array(await (await fetch(start.payload.url)).arrayBuffer());
    session.show(decodePayload(bytes));
  }

  /** Keeps the URL up to date and follows its changes. */
  private follow(session: Session): void {
    let shown = location.hash;
    let timer = 0;
    const write = (): void => {
      timer = 0;
      shown = encode(session.state, presetState);
      if (shown !== location.hash) history.replaceState(null, "", shown);
    };
    session.on(["state"], () => {
      const name = session.state.doc["name"];
      document.title = typeof name === "string" && name ? `${name} – Sojourn lab` : "Sojourn lab";
    });
    session.on(["state", "time"], () => {
      if (!timer && !session.playing) timer = window.setTimeout(write, 300);
    });
    window.addEventListener("hashchange", () => {
      if (location.hash === shown) return;
      shown = location.hash;
      session.update(decode(location.hash, presetState, session.state));
      session.notify("time");
    });
  }

  disconnectedCallback(): void {
    this.lab?.close();
    this.lab = null;
  }
}

export function define(): void {
  if (!customElements.get("sojourn-lab")) customElements.define("sojourn-lab", SojournLab);
}
