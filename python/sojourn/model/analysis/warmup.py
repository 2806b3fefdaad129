"""Warm-up: the time that compared runs leave out, and notes about it.

A run with `warmup = "auto"` finds its warm-up from its own backlog (MSER-5, in the core), and its tables contain its
statistics from every later instant on. Runs that differ only in the queue manager and the seed form a cell: all use the
latest start of statistics that one of them needs. Otherwise their differences would be over different traffic, and
means over different times. A run that does not settle leaves out half of its time. If link or load change on purpose
nothing settles, and a tenth is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sojourn.base.errors import InputError
from sojourn.model.analysis.labels import Name, differing, flatten

if TYPE_CHECKING:
    from sojourn.model.results.result import Result

AUTO = "auto"
"""Value of `warmup` if the run determines it."""


def aligned(results: Sequence[Result]) -> list[Result]:
    """Each result with statistics from its cell's common start on; logs and results with a given warm-up unchanged.

    A cell is every queue manager and every seed with the same other keys. Keys that depend on the queue manager or the
    seed, such as a limit that changes with it or a drawn rate, do not split cells.
    """
    searched = [result for result in results if not result.is_log and result.settled is not None]
    cells = _cells(searched)
    needs: dict[Hashable, float] = {}
    for result, cell in zip(searched, cells, strict=True):
        needs[cell] = max(needs.get(cell, 0.0), result.warmup_s)
    moved = iter([result.since(needs[cell]) for result, cell in zip(searched, cells, strict=True)])
    return [result if result.is_log or result.settled is None else next(moved) for result in results]


def summaries(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Summary of each result as a row, from its cell's common start on."""
    return [dict(result.summary_rows[0]) for result in aligned(results)]


def refuse_unsettled(results: Sequence[Result]) -> None:
    """Raise `InputError` if the warm-up of a run was requested but not found."""
    for result in results:
        if result.settled is False:
            raise InputError(f"warmup: {_reason_text(result)}; give a longer duration, or a warmup")


def warmup_text(runs: Sequence[Mapping[str, Any]], warmup: str) -> str:
    """Warm-up of some runs in words: `3 s`, or the minimum and maximum found."""
    if warmup != AUTO:
        return warmup
    found = [run["warmup_s"] for run in runs if run.get("settled") is not None]
    least, most = (f"{value:.4g}" for value in (min(found), max(found)))
    span = f"{least} s" if least == most else f"{least} to {most} s"
    return f"{span} ({AUTO})"


def warmup_sentence(result: Result) -> str:
    """Warm-up that a run found, in words; empty if it was given."""
    if result.settled is None:
        return ""
    notes = ["", *not_settled([result], [""], remedy="--set duration=…")]
    return f"Warm-up {result.warmup_s:.4g} s ({AUTO}){'; '.join(notes)}"


def is_unsettled(not_settled: str | None) -> bool:
    """Whether a summary's `not_settled` means that the run is too short to settle, not that link or load change."""
    return not_settled == NO_STEADY_STATE


def mark_unsettled(names: Sequence[Name], results: Sequence[Result]) -> list[Name]:
    """Add the remark "not settled" to the names that have an unsettled run."""
    unsettled = {name for name, result in zip(names, results, strict=True) if is_unsettled(result.not_settled)}
    return [replace(name, remark="not settled") if name in unsettled else name for name in names]


def not_settled(results: Sequence[Result], names: Sequence[str], *, remedy: str = "--duration") -> list[str]:
    """A sentence for each reason why runs have not settled, with the names of those runs unless it is all of them.

    `remedy` is the option that sets a longer duration.
    """
    reasons: dict[str, list[str]] = {}
    for result, name in zip(results, names, strict=True):
        if result.not_settled is not None:
            reasons.setdefault(result.not_settled, []).append(name)
    return [_sentence(reason, _runs_text(own, names), remedy) for reason, own in reasons.items()]


def _sentence(reason: str, runs: str, remedy: str) -> str:
    if is_unsettled(reason):
        return (
            f"not settled: {reason}{runs}; half of the run is excluded, also of the runs it is compared with; give a "
            f"longer duration ({remedy})"
        )
    return (
        f"{reason}{runs}, so there is no steady state; a tenth of the time, at most 10 s, is excluded unless a "
        "warmup is given"
    )


def _runs_text(unsettled: Sequence[str], names: Sequence[str]) -> str:
    if len(unsettled) == len(names):
        return ""
    runs, all_runs = Counter(unsettled), Counter(names)
    each = [name if runs[name] == all_runs[name] else f"{name}: {runs[name]} of {all_runs[name]}" for name in runs]
    more = [f"{len(each) - MAX_NAMES} more"] if len(each) > MAX_NAMES else []
    return f" ({'; '.join([*each[:MAX_NAMES], *more])})"


def _reason_text(result: Result) -> str:
    if is_unsettled(result.not_settled):
        duration = result.scenario.document["duration"]
        return f"the backlog under {result.scenario.aqm} has not settled in the first half of {duration}"
    return f"{result.not_settled}, so there is no steady state"


def _cells(results: Sequence[Result]) -> list[Hashable]:
    """Cell of each result: the keys in which it differs, without queue managers and the seed."""
    rows = [{**flatten(result), "engine": result.engine} for result in results]
    keys = differing(rows)
    managers = [key for key in keys if key == "aqm" or key.endswith(".aqm")]
    chosen = [tuple(repr(row.get(key)) for key in (*managers, "seed")) for row in rows]

    def is_decided(key: str) -> bool:
        return len({(given, repr(row.get(key))) for given, row in zip(chosen, rows, strict=True)}) == len(set(chosen))

    others = [key for key in keys if key not in (*managers, "seed") and not is_decided(key)]
    return [tuple(repr(row.get(key)) for key in others) for row in rows]


NO_STEADY_STATE = "the backlog has no steady state"
"""The core's reason for a run without changes of link or load."""
MAX_NAMES = 4
"""Maximum number of unsettled runs named; the others are counted, and the rows show them."""
