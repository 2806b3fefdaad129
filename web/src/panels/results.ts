/** Statistics and fingerprints of both runs, with the command that reproduces them. */

import { digits } from "../base/quantity.js";
import { download, fill, h, setText } from "../base/dom.js";
import type { Session } from "../app/session.js";
import { SIDES, type Side } from "../model/state.js";
import { LATE_MS, meanOpinion, pacedFlows } from "../plots/calls.js";
import { loadTimes } from "../plots/transfers.js";
import type { SideRun } from "../sim/run.js";

interface Row {
  name: string;
  /** Null if the run has no such value. */
  value(run: SideRun): string | null;
}

const ms = (value: number): string => `${digits(value, 3)} ms`;
const percent = (share: number): string => `${digits(share * 100, 3)} %`;

const forward = (run: SideRun) => run.outcome.summary?.links.forward ?? null;

/** Quantile over all packets, including those not kept. */
const sojourn = (run: SideRun, name: "p50" | "p95" | "p99", p: number): number =>
  forward(run)?.sojourn_ms[name] ?? run.sojournQuantile(p);

function late(run: SideRun): string | null {
  const flows = pacedFlows(run);
  const share = flows.length ? run.late(flows, LATE_MS * 1e6) : NaN;
  return Number.isNaN(share) ? null : percent(share);
}

/** Rows of the table; a row without values is omitted. */
const ROWS: readonly Row[] = [
  { name: "sojourn time, median", value: run => ms(sojourn(run, "p50", 0.5)) },
  { name: "sojourn time, 95 %", value: run => ms(sojourn(run, "p95", 0.95)) },
  { name: "sojourn time, 99 %", value: run => ms(sojourn(run, "p99", 0.99)) },
  { name: "link busy", value: run => (forward(run) ? percent(forward(run)!.utilisation) : null) },
  {
    name: "goodput of all flows",
    value: run => (run.outcome.summary ? `${digits(run.outcome.summary.goodput_bps / 1e6, 4)} Mbit/s` : null),
  },
  {
    name: "Jain's fairness index",
    value: run => (run.outcome.summary?.jain ? digits(run.outcome.summary.jain, 3) : null),
  },
  { name: "drops", value: run => String(forward(run)?.dropped ?? run.drops.length) },
  { name: "marks", value: run => String(forward(run)?.marked ?? run.marks.length) },
  {
    name: "call: mean opinion score (1 to 5)",
    value: run => (meanOpinion(run) === null ? null : digits(meanOpinion(run)!, 3)),
  },
  { name: "call and game: lost, or over 50 ms in the queue", value: late },
  {
    name: "load time, median",
    value: run => {
      const times = loadTimes(run)?.y.slice().sort();
      return times?.length ? `${digits(times[times.length >> 1]!, 3)} s` : null;
    },
  },
];

/** File name from the letters and digits of the scenario's name. */
export function fileName(session: Session, side: Side): string {
  const name = String(session.state.doc["name"] ?? "");
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  return `${(plain || "scenario").slice(0, 40)}-${side}.toml`;
}

export class Results {
  readonly element: HTMLElement;
  private readonly body = h("tbody");
  private readonly prints = h("div", { class: "prints" });
  private readonly heads: Record<Side, HTMLElement> = { a: h("span"), b: h("span") };

  constructor(private readonly session: Session) {
    const head = (side: Side): HTMLElement =>
      h("th", { scope: "col", class: `is-${side}` }, `${side.toUpperCase()}  `, this.heads[side]);
    this.element = h(
      "section",
      { class: "results", "aria-label": "Results" },
      h("h2", {}, "Results"),
      h(
        "div",
        { class: "scroll" },
        h("table", {}, h("thead", {}, h("tr", {}, h("td", {}), head("a"), head("b"))), this.body),
      ),
      this.prints,
    );
    session.on(["runs", "state"], () => this.update());
  }

  private update(): void {
    const { session } = this;
    for (const side of SIDES) setText(this.heads[side], session.name(side));
    const rows = ROWS.flatMap(({ name, value }) => {
      const values = SIDES.map(side => (session.runs[side] ? value(session.runs[side]!) : null));
      if (values.every(text => text === null)) return [];
      return [h("tr", {}, h("th", { scope: "row" }, name), ...values.map(text => h("td", {}, text ?? "–")))];
    });
    fill(this.body, ...rows);
    fill(this.prints, ...SIDES.map(side => this.print(side)), this.diffCommand());
  }

  private print(side: Side): HTMLElement | null {
    const run = this.session.runs[side];
    if (!run) return null;
    const { fingerprint } = run.outcome;
    const file = fileName(this.session, side);
    if (!fingerprint)
      return h(
        "p",
        {},
        `${side.toUpperCase()}: recorded arrivals, played into ${this.session.name(side)}; a replay has no fingerprint.`,
      );
    const onclick = (): void => {
      void this.session.text(side).then(whole => download(file, whole, "application/toml"));
    };
    const save = h("button", { type: "button", class: "small", onclick }, "TOML");
    return h(
      "div",
      { class: "print" },
      h("span", { class: `letter is-${side}` }, side.toUpperCase()),
      h("span", {}, "fingerprint ", h("code", { "data-fingerprint": side }, fingerprint)),
      side === "a" ? this.stored(fingerprint) : null,
      save,
      h("code", { class: "command" }, `sojourn run ${file}`),
    );
  }

  /** Compares the fingerprint of a stored result with that of the run in A. */
  private stored(fingerprint: string): HTMLElement | null {
    const { stored } = this.session;
    if (stored === null) return null;
    return h("span", {}, stored === fingerprint ? "as in the stored result" : `the stored result has ${stored}`);
  }

  private diffCommand(): HTMLElement | null {
    const { session } = this;
    if (session.state.mode !== "arrivals") return null;
    const quoted = (side: Side): string => `"${session.name(side)}"`;
    const command = `sojourn aqm diff ${quoted("a")} ${quoted("b")} --scenario ${fileName(session, "a")}`;
    return h("p", {}, "The same on the command line: ", h("code", { class: "command" }, command));
  }
}
