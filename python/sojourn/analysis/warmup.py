"""Warm-up: what runs that are compared leave out, and what there is to say of it.

A run with `warmup = "auto"` finds its warm-up from its own backlog (MSER-5, in the core), and its table `windows` has
its summary for every later start of the statistics. Runs that differ in the queue manager only are summarised from the
same instant on, the longest warm-up of those that have settled: else their differences would be over different traffic.
A run that has not settled leaves out a tenth, whatever it is compared with.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.base.errors import InputError

if TYPE_CHECKING:
    from sojourn.results.result import Result

AUTO = "auto"
"""The warm-up that is found from the run."""


def summaries(results: Sequence[Result], places: Sequence[Hashable] | None = None) -> list[dict[str, Any]]:
    """Summary of each result as a row, over the window of the runs that it is compared with.

    These have an equal entry in `places`; without it, the same seed and scenario but for the bottleneck's AQM.
    """
    places = [_place(result) for result in results] if places is None else places
    starts: dict[Hashable, float] = {}
    for result, place in zip(results, places, strict=True):
        if result.settled:
            starts[place] = max(starts.get(place, 0.0), result.warmup_s)
    return [
        result.summary_from(starts[place]) if result.settled else result.summary.row(0, named=True)
        for result, place in zip(results, places, strict=True)
    ]


def refuse_unsettled(results: Sequence[Result]) -> None:
    """Refuse runs whose warm-up was asked for and not found."""
    for result in results:
        if result.settled is False:
            raise InputError(f"warmup: {_why(result)}; give a longer duration, or a warmup")


def described(runs: pl.DataFrame, warmup: str) -> str:
    """What a scenario's warm-up was in some runs, in words: `3 s`, or the least and the most that was found."""
    if warmup != AUTO:
        return warmup
    found = runs.filter(pl.col("settled").is_not_null())["warmup_s"].to_list()
    least, most = (f"{value:.4g}" for value in (min(found), max(found)))
    span = f"{least} s" if least == most else f"{least} to {most} s"
    return f"{span} ({AUTO})"


def of_run(result: Result) -> str:
    """What a run found of its warm-up, in words; empty where it was given."""
    if result.settled is None:
        return ""
    note = "" if result.settled else f"; {not_settled([result], [''])[0]}"
    return f"Warm-up {result.warmup_s:.4g} s ({AUTO}){note}"


def not_settled(results: Sequence[Result], names: Sequence[str]) -> list[str]:
    """A sentence for each reason why runs have not settled, with the names of those runs unless they are all."""
    reasons: dict[str, list[str]] = {}
    for result, name in zip(results, names, strict=True):
        if result.settled is False:
            reasons.setdefault(str(result.totals["not_settled"]), []).append(name)
    return [f"not settled: {why}{_who(own, names)}; {LEFT_OUT}" for why, own in reasons.items()]


def _who(unsettled: Sequence[str], names: Sequence[str]) -> str:
    if len(unsettled) == len(names):
        return ""
    runs, all_runs = Counter(unsettled), Counter(names)
    each = [name if runs[name] == all_runs[name] else f"{name} {runs[name]} of {all_runs[name]}" for name in runs]
    return f" ({', '.join(each)})"


def _why(result: Result) -> str:
    change = str(result.totals["not_settled"])
    if change == NO_STEADY_STATE:
        duration = result.scenario.document["duration"]
        return f"the backlog under {result.scenario.aqm} has not settled in the first half of {duration}"
    return f"{change}, so that nothing settles"


def _place(result: Result) -> Hashable:
    document = json.loads(result.scenario.canonical)
    first = document["links"][0] if result.scenario.is_graph else document["link"]
    del first["aqm"]
    return json.dumps({**document, "seed": result.seed}, sort_keys=True), result.engine


LEFT_OUT = "a tenth of the time, at most 10 s, is left out"
NO_STEADY_STATE = "the backlog has no steady state"
"""What the core says of a run in which nothing changes."""
