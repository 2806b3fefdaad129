"""The scorecard as one page without network access, with no script but its lab's, suitable for print."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn import _core, engines
from sojourn.papers.report.html import Html, el, image, join, sectioned, table
from sojourn.papers.report.runnable import HEADING, first_run, runnable
from sojourn.studies.score import ROWS
from sojourn.studies.score.card import Scorecard
from sojourn.studies.score.grades import BANDS, LETTERS
from sojourn.studies.score.numbers import NUMBERS
from sojourn.studies.score.runs import MAX_SEEDS, PERCENT

SECTIONS = {
    "grades": "Grades at a glance",
    "rows": "Rows",
    "run": HEADING,
    "bands": "What the grades mean",
    "left-out": "Shortened and left out",
    "methods": "Methods, ready to paste",
    "provenance": "Provenance",
}
STYLE = """
.grade { display: inline-block; min-width: 1.6em; text-align: center; padding: 0 .35rem; border: 1px solid;
  border-radius: .25rem; font-weight: 700; }
.A { color: #075e3a; background: #e9f6ef; } .B { color: #2f5e07; background: #f0f6e4; }
.C { color: #6b4700; background: #fff4dc; } .D { color: #8a3a00; background: #ffeadb; }
.F { color: #96121f; background: #fdecec; }
td small { display: block; color: var(--soft); }
@media print { .grade { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""


def page(card: Scorecard, figures: Mapping[str, Path]) -> str:
    """Text of a scorecard's page, with figures by name."""
    document = card.document
    bodies = {
        "grades": join([_glance(document), _picture(figures, "plane", PLANE)]),
        "rows": join(_of_row(row, document, figures) for row in document["rows"] if row["state"] == "run"),
        "run": _run(card),
        "bands": _bands(card),
        "left-out": _left_out(document),
        "methods": _methods(card),
        "provenance": _provenance(card),
    }
    title = f"Scorecard: {', '.join(document['aqms'])} on {document['profile']}"
    return sectioned(title, SECTIONS, bodies, about=_summary(card), style=STYLE)


def _run(card: Scorecard) -> Html:
    """The first run of the first row; only for the simulator, because the page contains no other engine."""
    found = [(one.plan.row_id, one.plan.study) for one in card.done if one.plan.study is not None]
    if card.wanted.engine != engines.SIMULATE or not found:
        return Html()
    row, study = found[0]
    first = first_run(study)
    return runnable(first, f"The first run of the row {row}: {first.aqm}.")


def grade_mark(letter: str | None) -> Html:
    """A grade as a letter; its colour is redundant."""
    return el("span", letter, class_=f"grade {letter}") if letter else Html("–")


def _summary(card: Scorecard) -> Html:
    document = card.document
    quick = " Quick: shorter and with fewer seeds, so intervals are wider." if document["quick"] else ""
    overall = [
        part for aqm in document["aqms"] for part in (f"{aqm} ", grade_mark(document["totals"][aqm]["overall"]), ", ")
    ]
    failed = card.failed
    must = (
        [el("p", el("strong", "Mandatory rows that fail: "), "; ".join(failed), ".")]
        if failed
        else [el("p", "All mandatory rows hold.")]
    )
    about = f"{card.wanted.profile.about}; base round-trip time 100 ms.{quick}"
    return join([el("p", about), el("p", "Overall: ", *overall[:-1], "."), *must])


def _glance(document: Mapping[str, Any]) -> Html:
    headings = ["row", "RFC 7928", *document["aqms"]]
    rows = []
    for row in document["rows"]:
        name = el("a", row["id"], href=f"#{row['id']}") if row["state"] == "run" else row["id"]
        first = join([name, el("small", row["title"])])
        cells = [_glance_cell(row, row["columns"].get(aqm)) for aqm in document["aqms"]]
        rows.append([first, row["section"], *cells])
    counts = [
        " ".join(f"{letter} {document['totals'][aqm]['rows'][letter]}" for letter in LETTERS)
        for aqm in document["aqms"]
    ]
    rows.append(["rows by grade", "", *counts])
    return table(headings, rows, caption="Grade of each row and the number that makes it, ± half of its 95 % interval")


def _glance_cell(row: Mapping[str, Any], column: Mapping[str, Any] | None) -> Html:
    if column is None or column["state"] == "not-run":
        return el("span", "not run", class_="verdict not-run")
    name = _deciding(row, column)
    metric = NUMBERS[name].metric
    shown = f"{metric.label} {_value(name, column['numbers'][name])} {metric.unit}".rstrip()
    return join([grade_mark(column["grade"]), el("small", shown)])


def _deciding(row: Mapping[str, Any], column: Mapping[str, Any]) -> str:
    """The number that determines a row's grade, the first of several; without a grade the row's main number."""
    names: list[str] = row["numbers"]
    numbers = column["numbers"]
    return next((name for name in names if numbers[name]["grade"] == column["grade"]), names[0])


def _of_row(row: Mapping[str, Any], document: Mapping[str, Any], figures: Mapping[str, Path]) -> Html:
    rows = []
    for name in row["numbers"]:
        number = NUMBERS[name]
        unit = f" [{number.metric.unit}]" if number.metric.unit else ""
        must = " – must not be F" if name in row["must"] else ""
        first = join([f"{number.metric.label}{unit}", el("small", f"{number.meaning}{must}")])
        rows.append([first, *(_cell(name, row["columns"][aqm]) for aqm in document["aqms"])])
    about = _about(row)
    caption = f"{row['title']}: value ± 95 % interval, and below it the difference to {row['differences_to']}"
    heading = el("h3", f"{row['id']}: {row['title']}", id=row["id"])
    drawn = [_picture(figures, row["id"], f"{row['title']}: the delay over time, first seed")]
    for aqm in document["aqms"]:
        drawn.append(
            _picture(figures, f"{row['id']}, {aqm}", f"{aqm}: goodput ratio of the first sender to the second")
        )
    whole = table(["number", *document["aqms"]], rows, caption=caption)
    return el("article", heading, about, whole, *drawn, _points(row, document["aqms"]))


def _picture(figures: Mapping[str, Path], name: str, title: str) -> Html:
    """A figure, if there is one of that name."""
    if name not in figures:
        return Html()
    drawn = image(figures[name], f"{title}. Its numbers are in the tables.")
    scrolled = el("div", drawn, class_="scrolled", role="group", aria_label=title, tabindex="0")
    return el("figure", scrolled, el("figcaption", f"{title}."))


PLANE = "Goodput against delay under three loads: a point for each seed, an ellipse of one standard deviation"


def _about(row: Mapping[str, Any]) -> Html:
    section = f"RFC 7928, {row['section']}" if row["section"][0].isdigit() else f"{row['section']}, not in RFC 7928"
    if not row.get("study"):
        return el("p", f"{section}; needs no run.", class_="note")
    seeds = f"{len(row['seeds'])} seeds" if len(row["seeds"]) != 1 else "one seed"
    wider = f"; bands of delays {row['slowness']:g} times as wide" if row["slowness"] > 1 else ""
    study = el("a", row["study"], href=row["study"])
    return el("p", f"{section}; {seeds}{wider}; study ", study, ".", class_="note")


def _points(row: Mapping[str, Any], aqms: Sequence[str]) -> Html:
    columns = {aqm: column for aqm in aqms if (column := row["columns"][aqm]).get("points")}
    if not columns:
        return Html()
    name = next(iter(ROWS[row["id"]].at_points), row["numbers"][0])
    metric = NUMBERS[name].metric
    places = [point["point"] for point in next(iter(columns.values()))["points"]]
    rows = [
        [place, *(metric.show(column["points"][at].get(name)) for column in columns.values())]
        for at, place in enumerate(places)
    ]
    whole = table(["at", *columns], rows, caption=f"{metric.axis_label} at each point, mean over the seeds")
    return el("details", el("summary", "at each point"), whole)


def _cell(name: str, column: Mapping[str, Any]) -> Html:
    if column["state"] == "not-run":
        return el("small", column["why"])
    number = column["numbers"][name]
    parts: list[str] = [grade_mark(number["grade"]), " "] if number["grade"] else []
    return join([*parts, _value(name, number), el("small", difference_text(name, number))])


def _value(name: str, number: Mapping[str, Any]) -> str:
    return NUMBERS[name].metric.show(number["value"], number["ci95"])


def difference_text(name: str, number: Mapping[str, Any]) -> str:
    """Difference of a number in words; empty if there is none."""
    found = number["difference"]
    if found is None:
        return ""
    if found["same"]:
        return "same"
    sign = "+" if found["value"] > 0 else ""
    return f"{sign}{NUMBERS[name].metric.show(found['value'], found['ci95'])}{' *' if found['significant'] else ''}"


def _bands(card: Scorecard) -> Html:
    slowness = card.wanted.profile.slowness()
    rows = []
    for name, band in BANDS.items():
        of = ", ".join(number.metric.label for number in NUMBERS.values() if number.band == name)
        rows.append([name, *band.texts(slowness), of])
    text = (
        "The bands are Sojourn's own. They are fixed, the same for all, and never relative to the others. On slow "
        "links those of delays are wider, so that five full packets fit into grade A. A row's grade is the worst of "
        "its numbers', the overall one the mean over the rows (A 4, F 0; F if a mandatory row fails)."
    )
    note = "* : p < 0.05 in the paired t test over the seeds (and in Wilcoxon's from six pairs on), not adjusted."
    headings = ["band", *LETTERS[:-1], "of"]
    whole = table(headings, rows, caption="Bands; beyond D is F")
    return join([whole, el("p", text), el("p", note), el("p", UNCHECKED)])


UNCHECKED = (
    "Unchecked: the rows follow RFC 7928 from memory. What the ns-3 suite for it has (sections 5, 6 and 8 but for the "
    "LEDBAT row, the rate that changes every 100 ms and the parameters) was read and agrees; sections 4, 7 and 9 to 12 "
    "and the losses that the loads of 8.2 promise have not been compared with the RFC's text."
)


def _left_out(document: Mapping[str, Any]) -> Html:
    rows = [[row["id"], "all", f"not run: {row['why']}"] for row in document["rows"] if row["state"] != "run"]
    for row in document["rows"]:
        rows += [[row["id"], "all", text] for text in row["shortened"]]
        rows += [
            [row["id"], aqm, f"not run: {column['why']}"]
            for aqm, column in row["columns"].items()
            if column["state"] != "run"
        ]
    if not rows:
        return el("p", "Nothing.")
    return table(["row", "of", "what"], rows, caption="Shortened or omitted parts of each study file, and why")


def _methods(card: Scorecard) -> Html:
    document = card.document
    tests = f"{sum(row['state'] == 'run' for row in document['rows'])} tests after RFC 7928"
    tests += ", with three seeds and a third of the time," if document["quick"] else ""
    until = (
        ""
        if document["quick"] or card.wanted.seeds
        else " Seeds were added until every graded interval was within one grade or its half width at most "
        f"{PERCENT:g} % of the mean, up to {MAX_SEEDS}."
    )
    by = engines.identity(document["engine"]) if document["engine"] != engines.SIMULATE else "the simulator"
    text = (
        f"We scored {', '.join(document['aqms'])} by {tests} on the profile {document['profile']} with Sojourn "
        f"{_core.version()} ({by}).{until} All queue managers met the same traffic for each seed; differences to "
        f"{document['baseline']} are paired by seeds. "
        "Values are means with 95 % confidence intervals after Student's t."
    )
    return el("div", el("p", text), class_="methods")


def _provenance(card: Scorecard) -> Html:
    facts = {
        "version": f"Sojourn {_core.version()}, Python {platform.python_version()}, {platform.machine()}",
        "engine": engines.identity(card.wanted.engine),
        "command": shlex.join(card.command) or "called from Python",
        "check": "sojourn score --verify score.lock runs a tenth of the runs again and compares fingerprints",
    }
    parts: list[str] = []
    for name, text in facts.items():
        parts += [el("dt", name), el("dd", el("code", text) if name == "command" else text)]
    rows = [[one.plan.row_id, str(len(one.results)), one.plan.digest[:16]] for one in card.done if one.results]
    return join([el("dl", *parts), table(["row", "runs", "SHA-256 of the study"], rows, caption="Runs of each row")])
