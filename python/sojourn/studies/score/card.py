"""The scorecard: every row's numbers with grades and differences, as one document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sojourn import _core
from sojourn.base.progress import Progress
from sojourn.model.analysis.stats import paired_difference, sample_ci
from sojourn.studies.runs.runner import Runner
from sojourn.studies.score.grades import BANDS, LETTERS, overall, worst
from sojourn.studies.score.numbers import NUMBERS
from sojourn.studies.score.plan import ScoreSettings, plan
from sojourn.studies.score.runs import RowResult, run_row

FORMAT = 1
"""Version of `scorecard.json`; its schema is `scorecard.schema.json` beside this file."""


@dataclass(frozen=True)
class Scorecard:
    """A completed scorecard."""

    wanted: ScoreSettings
    done: Sequence[RowResult]
    names: Mapping[str, str]
    """Display name of each queue manager, by its spelling with absolute paths."""
    command: Sequence[str] = ()

    @cached_property
    def document(self) -> dict[str, Any]:
        """Content of `scorecard.json`."""
        rows = [_row(one, self.wanted, self.names) for one in self.done]
        aqms = [self.names[aqm] for aqm in self.wanted.aqms]
        return {
            "format": FORMAT,
            "sojourn": _core.version(),
            "command": list(self.command),
            "engine": self.wanted.engine,
            "profile": self.wanted.profile.name,
            "quick": self.wanted.quick,
            "baseline": self.names[self.wanted.baseline],
            "aqms": aqms,
            "rows": rows,
            "totals": {aqm: _total(rows, aqm) for aqm in aqms},
        }

    @property
    def idle(self) -> list[tuple[str, str]]:
        """Rows with a sentence for each of their swept keys that changes no run."""
        return [(one.plan.row_id, sentence) for one in self.done for sentence in one.idle]

    @property
    def failed(self) -> list[str]:
        """Sentences about violated requirements of the queue managers other than the baseline."""
        document = self.document
        return [
            f"{row['id']}: {aqm}: {NUMBERS[name].metric.label} {_shown(name, column['numbers'][name])} is F"
            for row in document["rows"]
            for aqm, column in row["columns"].items()
            if aqm != document["baseline"]
            for name in column.get("must_failed", [])
        ]


def score(
    rows: Iterable[str], wanted: ScoreSettings, runner: Runner, names: Mapping[str, str], command: Sequence[str] = ()
) -> Scorecard:
    """Plan all rows first, so that errors are reported before any work; then run one after another."""
    plans = [plan(row_id, wanted) for row_id in rows]
    tell = runner.progress if callable(runner.progress) else None
    found = []
    for place, one in enumerate(plans):
        if tell is not None:
            runner.progress = _part(tell, place, len(plans))
        found.append(run_row(one, wanted, runner))
    runner.progress = tell
    return Scorecard(wanted, found, names, command)


def _part(tell: Progress, place: int, of: int) -> Callable[[float, int, int], None]:
    """Progress callback for one row among all."""

    def report(share: float, _finished: int, _total: int) -> None:
        tell((place + share) / of, place, of)

    return report


def _row(one: RowResult, wanted: ScoreSettings, names: Mapping[str, str]) -> dict[str, Any]:
    about = one.plan.row
    document: dict[str, Any] = {
        "id": one.plan.row_id,
        "section": about.section,
        "title": about.title,
        "state": "run" if one.samples else "not-run",
        "why": one.plan.why_not,
        "numbers": list(about.numbers) if one.samples else [],
        "must": list(about.must),
        "differences_to": "itself" if about.beside_plain else names[wanted.baseline],
        "shortened": list(one.plan.shortened),
        "columns": {},
    }
    if not one.samples:
        return document
    if one.results:
        document |= {
            "study": f"studies/{one.plan.row_id}.toml",
            "study_sha256": one.plan.digest,
            "seeds": list(one.seeds),
            "widest_percent": one.widest_percent,
            "slowness": one.plan.slowness,
        }
    document["columns"] = {names[aqm]: _column(one, aqm, wanted) for aqm in wanted.aqms}
    return document


def _column(one: RowResult, aqm: str, wanted: ScoreSettings) -> dict[str, Any]:
    if aqm in one.plan.left_out:
        return {"state": "not-run", "why": one.plan.left_out[aqm], "grade": None, "numbers": {}}
    own = one.plan.own[aqm][0]
    other = aqm if one.plan.row.beside_plain else next(iter(one.plan.own.get(wanted.baseline, [])), None)
    numbers = {name: _number(one, name, own, other, wanted) for name in one.plan.row.numbers}
    graded = [str(number["grade"]) for number in numbers.values() if number["grade"]]
    failed = [name for name in one.plan.row.must if numbers[name]["grade"] == LETTERS[-1]]
    column: dict[str, Any] = {
        "state": "run",
        "why": "",
        "run": own,
        "grade": worst(graded),
        "numbers": numbers,
        "must_failed": failed,
    }
    if own in one.points:
        column["points"] = [{"point": place, **values} for place, values in one.points[own]]
    return column


def _number(one: RowResult, name: str, own: str, other: str | None, wanted: ScoreSettings) -> dict[str, Any]:
    values = one.samples[own][name]
    there = [value for value in values if value is not None]
    found: dict[str, Any] = {"value": None, "ci95": None, "n": len(there), "grade": None, "difference": None}
    if not there:
        return found
    middle, half = sample_ci(there)
    band = BANDS.get(NUMBERS[name].band)
    found |= {"value": middle, "ci95": half, "grade": band and band.grade(middle, one.plan.slowness)}
    if other is None or other == own:
        return found
    pairs = [(a, b) for a, b in zip(one.samples[other][name], values, strict=True) if a is not None and b is not None]
    if not pairs:
        return found
    difference = paired_difference([a for a, _ in pairs], [b for _, b in pairs])
    return found | {
        "difference": {
            "value": difference.difference,
            "ci95": difference.ci95,
            "n": difference.n,
            "p_t": difference.p_t,
            "significant": difference.significant,
            "same": bool(one.prints) and one.prints[own] == one.prints[other],
        }
    }


def _total(rows: Sequence[Mapping[str, Any]], aqm: str) -> dict[str, Any]:
    columns = [row["columns"][aqm] for row in rows if aqm in row["columns"]]
    letters = [column["grade"] for column in columns if column["grade"]]
    failed = [row["id"] for row in rows if row["columns"].get(aqm, {}).get("must_failed")]
    return {
        "overall": LETTERS[-1] if failed else overall(letters),
        "rows": {letter: letters.count(letter) for letter in LETTERS},
        "must_failed": failed,
    }


def _shown(name: str, number: Mapping[str, Any]) -> str:
    metric = NUMBERS[name].metric
    return f"{metric.show(number['value'], number['ci95'])} {metric.unit}".rstrip()
