/** Guide panel: a lesson with its question, or a published result with its values. */

import { digits } from "../base/quantity.js";
import { fill, h, setText } from "../base/dom.js";
import type { Session } from "../app/session.js";
import { LESSONS } from "../lessons/index.js";
import type { Lesson } from "../lessons/lesson.js";
import { runStats } from "../lessons/stats.js";
import { find, parseAqm } from "../model/aqm.js";
import { aqmOf, type Side } from "../model/state.js";
import { CASES, published } from "../papers/index.js";
import { measured, verdict, type Case } from "../papers/case.js";
import { LESSON_KEYS, keyField, type BoundField } from "./keys.js";
import { paramField } from "./params.js";

const VERDICTS = { tight: "within the tight band", loose: "within the loose band", outside: "outside", unknown: "–" };

export class Guide {
  readonly element: HTMLElement;
  private readonly feedback = h("p", { class: "says", "aria-live": "polite" });
  private readonly after = h("p", { class: "after" });
  private readonly table = h("tbody");
  private built = "";
  /** Control that answers a lesson's question. */
  private control: BoundField | null = null;

  constructor(private readonly session: Session) {
    this.element = h("section", { class: "guide", hidden: true, "aria-label": "Guide" });
    session.on(["state", "runs"], () => this.update());
  }

  private update(): void {
    const { state } = this.session;
    const lesson = LESSONS.find(known => known.id === state.lesson);
    const paper = CASES.find(known => known.id === state.paper);
    this.element.hidden = !lesson && !paper;
    const key = `${state.lesson} ${state.paper}`;
    if (key !== this.built && this.session.registry) {
      this.built = key;
      this.control = null;
      if (lesson) this.buildLesson(lesson);
      else if (paper) this.buildCase(paper);
      else fill(this.element);
    }
    this.control?.show();
    if (lesson) this.judge(lesson);
    else if (paper) this.compare(paper);
  }

  private close(): HTMLElement {
    const onclick = (): void => this.session.update({ lesson: "", paper: "" });
    return h("button", { type: "button", class: "small close", "aria-label": "Close the guide", onclick }, "×");
  }

  private buildLesson(lesson: Lesson): void {
    const place = LESSONS.indexOf(lesson);
    const next = LESSONS[place + 1];
    this.control = this.boundField(lesson.control);
    fill(
      this.element,
      this.close(),
      h("h2", {}, `Lesson ${place + 1} of ${LESSONS.length}: ${lesson.title}`),
      ...lesson.text.map(text => h("p", {}, text)),
      h(
        "div",
        { class: "question" },
        h("p", {}, h("b", {}, lesson.question)),
        this.control?.field.element ?? null,
        this.feedback,
        this.after,
      ),
      next
        ? h(
            "button",
            { type: "button", onclick: () => this.session.choose(`lesson-${next.id}`) },
            `Next: ${next.title}`,
          )
        : null,
    );
  }

  /** Field of the lesson's control. Its changes apply to the whole run, so playback stops. */
  private boundField(control: Lesson["control"]): BoundField | null {
    const { session } = this;
    const bound = "key" in control ? this.ofKey(control.key) : this.ofParam(control.side, control.param);
    for (const event of ["input", "change"])
      bound?.field.element.addEventListener(event, () => session.playing && session.play(false), { capture: true });
    return bound;
  }

  private ofKey(path: string): BoundField | null {
    const key = LESSON_KEYS[path];
    return key ? keyField(this.session, key, `lesson.${path}`) : null;
  }

  private ofParam(side: Side, name: string): BoundField | null {
    const { registry, state } = this.session;
    const aqm = parseAqm(aqmOf(state, side), registry);
    const param = find(registry, aqm?.name ?? "")?.params.find(known => known.name === name);
    if (!param) return null;
    const bound = paramField(this.session, side, param, `lesson.${side}.${name}`);
    bound.field.element.querySelector(".label")!.textContent = `${side.toUpperCase()}'s ${name}`;
    return bound;
  }

  private judge(lesson: Lesson): void {
    const { session } = this;
    const { runs, registry, isBusy } = session;
    if (!runs.a || !runs.b || !registry || isBusy) return;
    const name = (side: Side): string => parseAqm(aqmOf(session.state, side), registry)?.name ?? "";
    const [a, b] = [runStats(runs.a, name("a")), runStats(runs.b, name("b"))];
    if (!a || !b) {
      setText(this.feedback, "The question is about senders that react: choose “same traffic”.");
      return;
    }
    const { right, feedback } = lesson.judge(a, b);
    this.element.dataset["answer"] = right ? "right" : "open";
    setText(this.feedback, right ? `✓ Right. ${feedback}` : `${feedback} Not there yet.`);
    setText(this.after, right ? lesson.after : "");
  }

  private buildCase(paper: Case): void {
    fill(
      this.element,
      this.close(),
      h("h2", {}, paper.title),
      h("p", { class: "muted" }, paper.paper),
      h("p", {}, paper.text),
      h(
        "div",
        { class: "scroll" },
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h("tr", {}, ...["published", "value", "bands", "here", ""].map(head => h("th", { scope: "col" }, head))),
          ),
          this.table,
        ),
      ),
      h(
        "p",
        { class: "muted" },
        `One run with one seed. All seeds and all figures: `,
        h("code", {}, `sojourn reproduce ${paper.key}`),
      ),
    );
  }

  private compare(paper: Case): void {
    const rows = published(paper.id).map(({ side, quantity, claim }) => {
      const run = this.session.runs[side];
      const value = run ? measured(run, quantity) : NaN;
      const unit = claim.unit ? ` ${claim.unit}` : "";
      const where = verdict(claim, value);
      return h(
        "tr",
        { "data-verdict": where },
        h("th", { scope: "row" }, `${side.toUpperCase()}: ${claim.metric}`),
        h("td", {}, `${digits(claim.expected, 4)}${unit}`),
        h(
          "td",
          {},
          `${digits(claim.tight_lo, 3)}–${digits(claim.tight_hi, 3)}; ${digits(claim.loose_lo, 3)}–${digits(claim.loose_hi, 3)}`,
        ),
        h("td", {}, `${digits(value, 4)}${unit}`),
        h("td", {}, VERDICTS[where]),
      );
    });
    fill(this.table, ...rows);
  }
}
