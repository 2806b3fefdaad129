/** Transport controls: play, pause, step, scrub, speed, mode of comparison, first difference. */

import { h, setText } from "../base/dom.js";
import type { Session } from "../app/session.js";
import { SPEEDS, type Mode } from "../model/state.js";
import { FATES } from "../view/fates.js";

const STEPS = 2000;

const MODES: { mode: Mode; label: string; hint: string }[] = [
  {
    mode: "traffic",
    label: "same traffic",
    hint: "The same flows and seed, each queue with its own closed loop. Arrivals are equal up to the first different verdict.",
  },
  {
    mode: "arrivals",
    label: "same arrivals",
    hint: "What arrived at A's queue is recorded and played into both. Senders do not react, as in sojourn aqm diff.",
  },
];

export class Transport {
  readonly element: HTMLElement;
  private readonly play: HTMLButtonElement;
  private readonly scrub: HTMLInputElement;
  private readonly clock = h("output", { class: "clock" });
  private readonly speed: HTMLSelectElement;
  private readonly modes: HTMLInputElement[];
  private readonly about = h("p", { class: "about" });
  private readonly first: HTMLButtonElement;
  private readonly scales: HTMLInputElement;

  constructor(private readonly session: Session) {
    const button = (text: string, label: string, onclick: () => void): HTMLButtonElement =>
      h("button", { type: "button", "aria-label": label, title: label, onclick }, text);
    this.play = button("▶", "Play (space)", () => session.play(!session.playing));
    this.scrub = h("input", { type: "range", min: 0, max: STEPS, step: 1, "aria-label": "Time in the run" });
    this.scrub.addEventListener("input", () => {
      session.seek((Number(this.scrub.value) / STEPS) * session.duration_ns);
    });
    const options = SPEEDS.map(({ label }, i) => h("option", { value: i }, label));
    this.speed = h("select", { "aria-label": "Speed, simulated seconds per second" }, ...options);
    this.speed.addEventListener("change", () => session.update({ speed: SPEEDS[Number(this.speed.value)]!.speed }));
    this.first = h("button", { type: "button", class: "first", onclick: () => this.goFirst() }, "First difference");
    this.modes = MODES.map(({ mode }) => {
      const radio = h("input", { type: "radio", name: "mode", value: mode });
      radio.addEventListener("change", () => session.update({ mode }));
      return radio;
    });
    this.scales = h("input", { type: "checkbox" });
    this.scales.addEventListener("change", () => {
      session.update({ scales: this.scales.checked ? "one" : "own" });
      session.notify("time");
    });
    const scales = "The queues of A and B are drawn to one scale, so that their lengths can be compared.";
    this.element = h(
      "section",
      { class: "transport", "aria-label": "Time" },
      h(
        "div",
        { class: "row" },
        button("◀", "One packet back (left arrow)", () => session.step(-1)),
        this.play,
        button("▶|", "One packet on (right arrow)", () => session.step(1)),
        this.speed,
        this.scrub,
        this.clock,
      ),
      h(
        "div",
        { class: "row" },
        h(
          "fieldset",
          { class: "modes" },
          h("legend", { class: "sr" }, "Common to A and B"),
          ...MODES.map(({ label, hint }, i) => h("label", { title: hint }, this.modes[i]!, label)),
        ),
        h("label", { class: "check", title: scales }, this.scales, "one scale"),
        this.about,
        this.first,
      ),
    );
    session.on(["state", "time", "runs"], () => this.update());
  }

  private goFirst(): void {
    const { first } = this.session;
    if (!first) return;
    this.session.play(false);
    this.session.seek(first.at_ns);
    const side = first.a !== null ? "a" : "b";
    const row = first[side];
    if (row !== null) this.session.select({ side, row });
  }

  update(): void {
    const { session } = this;
    const { at_ns, speed, mode } = session.state;
    const text = session.playing ? "❚❚" : "▶";
    if (this.play.textContent !== text) {
      setText(this.play, text);
      this.play.setAttribute("aria-label", session.playing ? "Pause (space)" : "Play (space)");
    }
    this.scrub.value = String(Math.round((at_ns / session.duration_ns) * STEPS));
    setText(
      this.clock,
      `${(at_ns / 1e9).toFixed(speed <= 0.01 ? 5 : 3)} s of ${(session.duration_ns / 1e9).toFixed(0)} s`,
    );
    const near = SPEEDS.reduce(
      (best, { speed: known }, i) =>
        Math.abs(Math.log(known / speed)) < Math.abs(Math.log(SPEEDS[best]!.speed / speed)) ? i : best,
      0,
    );
    const place = SPEEDS.findIndex(known => known.speed === speed);
    this.speed.value = String(place < 0 ? near : place);
    this.scales.checked = session.state.scales === "one";
    MODES.forEach((known, i) => {
      this.modes[i]!.checked = known.mode === mode;
      if (known.mode === mode) setText(this.about, known.hint);
    });
    const { first } = session;
    this.first.disabled = !first;
    setText(
      this.first,
      first ? `First difference: packet ${first.arrival} at ${(first.at_ns / 1e9).toFixed(4)} s` : "No difference",
    );
    this.first.title = first ? this.describe() : "";
  }

  private describe(): string {
    const { first, runs } = this.session;
    if (!first) return "";
    const fate = (side: "a" | "b"): string => {
      const row = first[side];
      return row === null ? "still waits" : (FATES[runs[side]!.packets.fate[row]!] ?? "");
    };
    return `A: ${fate("a")}. B: ${fate("b")}.`;
  }
}
