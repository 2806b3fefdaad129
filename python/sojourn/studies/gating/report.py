"""Outcome of a gate as text, JSON and Markdown."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from sojourn.base.markdown import table
from sojourn.studies.gating.decide import REGRESSION, UNCLEAR, Change
from sojourn.studies.gating.gate import BudgetRow, GateReport, WatchRow, spelled
from sojourn.studies.gating.records import listed
from sojourn.studies.gating.statistics import median

Figures = Mapping[tuple[str, str], Path]
"""Figures of broken budgets, by world and place of the budget."""
MAX_LINES = 15
"""Maximum number of lines of text."""


def text_lines(report: GateReport, figures: Figures, *, strict: bool) -> list[str]:
    """At most `MAX_LINES` lines, faults first."""
    bad = [line for row in report.budgets if not row.passed for line in _broken(row, figures)]
    bad += [_watch_line(row) for row in report.watches if row.verdict in (REGRESSION, UNCLEAR)]
    good = [_budget_line(row) for row in report.budgets if row.passed]
    good += [_watch_line(row) for row in report.watches if row.verdict not in (REGRESSION, UNCLEAR)]
    ends = [_looked_at(report)] if report.watches else []
    if report.written:
        ends.append(f"Baseline written: {report.written}; review its changes, and commit it")
    lines = [*bad, *good]
    room = MAX_LINES - 1 - len(ends)
    if len(lines) > room:
        lines = [*lines[: room - 1], f"  … {len(lines) - room + 1} more lines; --json has all"]
    return [_heading(report, strict=strict), *lines, *ends]


def as_json(report: GateReport, figures: Figures, *, strict: bool) -> dict[str, Any]:
    """Every number of the outcome."""
    return {
        "gate": str(report.gate.path),
        "passed": report.passed(strict=strict),
        "strict": strict,
        "worlds": list(report.worlds),
        "seeds": report.gate.seeds,
        "budgets": [_budget_json(row, figures) for row in report.budgets],
        "watches": [_watch_json(row) for row in report.watches],
        "compared": sum(row.change is not None for row in report.watches),
        "baseline": str(report.gate.baseline) if report.gate.baseline else None,
        "written": report.written is not None,
    }


def markdown_lines(report: GateReport, figures: Figures, *, strict: bool) -> list[str]:
    """A heading, one table, and per broken budget its figure and the command that repeats its worst seed."""
    rows = [*map(_budget_cells, report.budgets), *map(_watch_cells, report.watches)]
    lines = [f"### {_heading(report, strict=strict)}", ""]
    lines += table(["world", "sentence", "before", "now", "interval", "verdict"], rows)
    for row in report.budgets:
        if row.passed:
            continue
        lines += ["", f"{_code(row.budget.say)} in {_code(row.world)}: {_worst(row)}"]
        lines += ["", "```sh", row.repetition.replace("\n", " "), "```"]
        if file := figures.get((row.world, row.budget.place)):
            lines += ["", f"![Values per seed]({_relative(file)})"]
    return [*lines, "", _looked_at(report)] if report.watches else lines


def _heading(report: GateReport, *, strict: bool) -> str:
    outcome = "passed" if report.passed(strict=strict) else "failed"
    parts = [_count(len(report.worlds), "world"), _count(report.gate.seeds, "seed")]
    parts += [_count(len(report.budgets), "budget")] if report.budgets else []
    parts += [_count(len(report.watches), "watch", "watches")] if report.watches else []
    return f"{report.gate.path.name}: {outcome}: {', '.join(parts)}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def _looked_at(report: GateReport) -> str:
    looked = sum(row.change is not None for row in report.watches)
    if not looked:
        return "Decisions as in the baseline: nothing to compare"
    counts = {verdict: sum(row.verdict == verdict for row in report.watches) for verdict in (REGRESSION, UNCLEAR)}
    found = ", ".join(f"{number} {verdict}" for verdict, number in counts.items() if number) or "no regression"
    return f"{looked} of {_count(len(report.watches), 'watch', 'watches')} compared (Holm): {found}"


def _budget_line(row: BudgetRow) -> str:
    total = len(row.seeds)
    return f"  {row.world}: {row.budget.say}: true in {total - len(row.failing)} of {total} seeds; {_worst(row)}"


def _broken(row: BudgetRow, figures: Figures) -> Iterator[str]:
    total = len(row.seeds)
    yield (
        f"  {row.world}: {row.budget.say}: BROKEN, true in {total - len(row.failing)} of {total} seeds, needed in "
        f"{row.budget.needed}; false in {listed(row.failing)}; {_worst(row)}"
    )
    yield f"    repeat: {row.repetition}"
    if file := figures.get((row.world, row.budget.place)):
        yield f"    figure: {file}"


def _worst(row: BudgetRow) -> str:
    """Both sides of the comparisons in the worst seed."""
    worst = row.seeds[row.worst]
    sides = (f"{_number(one.left)} against {_number(one.right)} {one.unit}".rstrip() for one in worst.sides)
    return f"worst seed {row.worst}: {', '.join(sides)}"


def _watch_line(row: WatchRow) -> str:
    verdict = row.verdict.upper() if row.verdict == REGRESSION else row.verdict
    start = f"  {row.world}: {row.watch.what}: {verdict}"
    sees = f"sees {spelled(row.least, row.unit, row.level, up=True) if row.least else 'any change'}"
    now = f"{_number(row.now)} {row.unit}".rstrip()
    if row.change is None:
        return f"{start}, {now} ({sees})"
    return (
        f"{start}, {_number(row.before)} -> {now}, {_interval(row)} "
        f"({row.change.seeds} seeds, by {row.watch.by}, {sees})"
    )


def _interval(row: WatchRow) -> str:
    """Interval of the median change, as a change of the watched number."""
    assert row.change is not None
    low, high = _bounds(row, row.change)
    return f"{_signed(low, row)} to {_signed(high, row)} at {100 * row.change.confidence:.1f} %"


def _bounds(row: WatchRow, change: Change) -> tuple[float, float]:
    return (change.low, change.high) if row.watch.sign > 0 else (-change.high, -change.low)


def _signed(value: float, row: WatchRow) -> str:
    text = spelled(value, row.unit, row.level)
    return f"+{text}" if isfinite(value) and value > 0 else text


def _number(value: float) -> str:
    return f"{value:.4g}" if isfinite(value) else "–"


def _budget_cells(row: BudgetRow) -> list[str]:
    sides = [one.sides[0] for one in row.seeds.values()]
    left = sorted(side.left for side in sides if isfinite(side.left))
    now = f"{_number(median(left))} {sides[0].unit}".rstrip() if left else "–"
    spread = f"{_number(left[0])} to {_number(left[-1])}" if left else "–"
    total = len(row.seeds)
    verdict = f"{'true' if row.passed else '**broken**'}, {total - len(row.failing)} of {total} seeds"
    return [_code(row.world), _code(row.budget.say), "", now, spread, verdict]


def _watch_cells(row: WatchRow) -> list[str]:
    verdict = f"**{row.verdict}**" if row.verdict in (REGRESSION, UNCLEAR) else row.verdict
    before, now = (f"{_number(value)} {row.unit}".rstrip() for value in (row.before, row.now))
    return [_code(row.world), _code(row.watch.what), before, now, "" if row.change is None else _interval(row), verdict]


def _code(text: str) -> str:
    """Text as a span of code, which holds no markup; the fence is longer than any in it."""
    fence = "`"
    while fence in text:
        fence += "`"
    pad = " " if len(fence) > 1 else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _relative(file: Path) -> str:
    return Path(os.path.relpath(file)).as_posix().replace(" ", "%20")


def _budget_json(row: BudgetRow, figures: Figures) -> dict[str, Any]:
    file = figures.get((row.world, row.budget.place))
    return {
        "world": row.world,
        "say": row.budget.say,
        "needed": row.budget.needed,
        "passed": row.passed,
        "false_in": row.failing,
        "worst": row.worst,
        "repeat": row.repetition,
        "figure": None if file is None else str(file),
        "comparisons": [_side_json(row, place) for place in range(len(row.seeds[row.worst].sides))],
    }


def _side_json(row: BudgetRow, place: int) -> dict[str, Any]:
    sides: Sequence[Any] = [one.sides[place] for one in row.seeds.values()]
    return {
        "text": sides[0].text,
        "unit": sides[0].unit,
        "seeds": list(row.seeds),
        "left": [side.left for side in sides],
        "right": [side.right for side in sides],
    }


def _watch_json(row: WatchRow) -> dict[str, Any]:
    change = row.change
    bounds = (None, None) if change is None else _bounds(row, change)
    return {
        "world": row.world,
        "what": row.watch.what,
        "unit": row.unit,
        "worse": row.watch.worse,
        "by": row.margin,
        "least_visible": row.least,
        "verdict": row.verdict,
        "changed_seeds": row.changed,
        "seeds": None if change is None else change.seeds,
        "confidence": None if change is None else change.confidence,
        "before": row.before,
        "now": row.now,
        "change": None if change is None else row.watch.sign * change.middle,
        "low": bounds[0],
        "high": bounds[1],
    }
