/** Controls with a slider and a text field, for quantities from scenario files. */

import { digits, formatQuantity, parseQuantity, type Dimension } from "../base/quantity.js";
import { h } from "../base/dom.js";

export interface Range {
  dimension: Dimension | "number";
  min: number;
  max: number;
  /** Logarithmic scale; linear near zero if `min` is 0. */
  log: boolean;
  /** Whole numbers only. */
  whole?: boolean;
}

const STEPS = 240;

function toSlider(range: Range, value: number): number {
  const { min, max, log } = range;
  const clamped = Math.min(max, Math.max(min, value));
  if (!log) return Math.round(((clamped - min) / (max - min)) * STEPS);
  const low = Math.max(min, max * 1e-9);
  return Math.round((Math.log(Math.max(clamped, low) / low) / Math.log(max / low)) * STEPS);
}

function fromSlider(range: Range, place: number): number {
  const { min, max, log, whole } = range;
  const low = Math.max(min, max * 1e-9);
  const raw = log ? low * (max / low) ** (place / STEPS) : min + ((max - min) * place) / STEPS;
  if (whole) return Math.round(raw);
  return Number(digits(raw, 2)) || 0;
}

/** Text of a value, as in scenario files. */
export function write(range: Range, value: number): string {
  return range.dimension === "number" ? digits(value, 6) : formatQuantity(value, range.dimension, 6);
}

export function read(range: Range, text: string): number | null {
  if (range.dimension !== "number") return parseQuantity(text, range.dimension);
  const number = Number(text);
  return text.trim() !== "" && Number.isFinite(number) ? number : null;
}

export class Field {
  readonly element: HTMLElement;
  private readonly slider: HTMLInputElement;
  private readonly text: HTMLInputElement;
  private shown = "";

  constructor(
    readonly label: string,
    private readonly range: Range,
    private readonly change: (text: string, value: number) => void,
    hint = "",
    id = "",
  ) {
    this.slider = h("input", { type: "range", min: 0, max: STEPS, step: 1, "aria-label": label });
    this.text = h("input", { type: "text", "aria-label": `${label}, exact`, spellcheck: "false", autocomplete: "off" });
    this.slider.addEventListener("input", () => {
      const value = fromSlider(this.range, Number(this.slider.value));
      this.set(write(this.range, value));
      this.change(write(this.range, value), value);
    });
    this.text.addEventListener("change", () => {
      const value = read(this.range, this.text.value);
      this.text.setAttribute("aria-invalid", String(value === null));
      if (value !== null) this.change(this.text.value.trim(), value);
    });
    this.element = h(
      "div",
      { class: "field", title: hint, "data-field": id || label },
      h("span", { class: "label" }, label),
      this.text,
      this.slider,
    );
  }

  /** Shows a value; keeps the text while the user is typing. */
  set(text: string): void {
    const root = this.text.getRootNode();
    const isTyped = root instanceof ShadowRoot && root.activeElement === this.text;
    const known = read(this.range, text);
    const shown = known === null ? text : write(this.range, known);
    if (shown !== this.shown && known !== null) this.slider.value = String(toSlider(this.range, known));
    if (shown !== this.shown) this.slider.setAttribute("aria-valuetext", shown);
    this.shown = shown;
    if (isTyped || this.text.value === shown) return;
    this.text.value = shown;
    this.text.title = shown;
    this.text.removeAttribute("aria-invalid");
  }

  set disabled(off: boolean) {
    this.slider.disabled = off;
    this.text.disabled = off;
  }
}
