"""Coverage of a fit's intervals: fits of numbers that were simulated with known values."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sojourn.studies.fitting.data import Data
from sojourn.studies.fitting.fit import FitResult, fit
from sojourn.studies.fitting.report import probability_of
from sojourn.studies.fitting.search import Simulate
from sojourn.studies.fitting.space import Point, Range

DATA_SEEDS = 700_000
"""First seed of the runs that replace measurements."""


def coverage(
    data: Data,
    choices: Mapping[str, Any],
    truth: Point,
    groups: Sequence[Sequence[int]],
    simulate: Simulate,
    trials: int,
    tell: Callable[[int], None] = lambda _done: None,
) -> dict[str, Any]:
    """Simulate the numbers `trials` times with known values, fit each, and count the intervals that contain them.

    A number without a band is the mean of its number of runs; one with a band is the simulation's mean plus a deviation
    drawn from the band. `tell` is called with the number of completed trials.
    """
    fits = []
    for trial in range(trials):
        made = simulated(data, choices, truth, simulate, trial)
        fits.append(fit(made, choices, groups, simulate, seed=2 + trial))
        tell(trial + 1)
    return {"trials": trials, "keys": [_key(data, truth, fits, key) for key in range(len(truth))]}


def drawn_trial(
    data: Data, truth: Sequence[Range], groups: Sequence[Sequence[int]], simulate: Simulate, trial: int
) -> dict[str, Any]:
    """One trial with its own true values, drawn uniformly from `truth`: fit numbers simulated with them.

    Values have four decimals, so they are on no grid of the search. The same trial draws the same values and seeds.
    """
    draw = random.Random(f"truth {trial}")
    values = tuple(round(draw.uniform(one.low, one.high), 4) for one in truth)
    found = fit(simulated(data, {}, values, simulate, trial), {}, groups, simulate, seed=2 + trial)
    keys = []
    for about, true, best, profile in zip(data.space.ranges, values, found.point, found.profiles, strict=True):
        low, high = about.at(profile.low), about.at(profile.high)
        held = {
            "low": low,
            "high": high,
            "covered": low <= true <= high,
            "half_width": (high - low) / 2 / _scale(about, true),
        }
        keys.append({"key": about.path, "unit": about.unit, "truth": true, "value": best, **held})
    return {"trial": trial, "keys": keys, "p": probability_of(data, found), "closed": found.closed}


def summary_of(trials: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each key: intervals that contain the truth, and half widths relative to it."""
    rows = []
    for own in zip(*(one["keys"] for one in trials), strict=True):
        halves = [one["half_width"] for one in own]
        errors = [(one["value"] - one["truth"]) / one["truth"] for one in own if one["truth"]]
        rows.append(
            {
                "key": own[0]["key"],
                "unit": own[0]["unit"],
                "trials": len(own),
                "covered": sum(one["covered"] for one in own),
                "half_width_median": float(np.median(halves)),
                "half_width_p90": float(np.quantile(halves, 0.9)),
                "half_width_most": max(halves),
                "error_median": float(np.median(np.abs(errors))) if errors else None,
            }
        )
    return rows


def simulated(data: Data, choices: Mapping[str, Any], truth: Point, simulate: Simulate, trial: int) -> Data:
    """The data with the simulated numbers of one trial."""
    sets = {**choices, **data.space.sets(truth)}
    most = max([number.runs for number in data.numbers] + ([MANY] if any(one.sd for one in data.numbers) else []))
    first = DATA_SEEDS + trial * most
    [runs] = simulate([(sets, range(first, first + most))])
    draw = random.Random(f"trial {trial}")
    numbers = []
    for place, number in enumerate(data.numbers):
        own = runs[: number.runs, place] if number.sd is None else runs[:, place]
        value = float(own.mean())
        if number.sd is not None and data.together is not None and place in data.together.places:
            # The deviation of a real run instead of a drawn one: a recording's numbers are correlated.
            spread = float(own.std(ddof=1))
            value += float(own[0] - value) / spread * number.sd if spread else 0.0
        elif number.sd is not None:
            value += draw.gauss(0, number.sd)
        numbers.append(replace(number, value=value))
    return replace(data, numbers=tuple(numbers))


MANY = 10
"""Number of runs whose mean replaces the true value of a number with a band."""


def _key(data: Data, truth: Point, fits: Sequence[FitResult], key: int) -> dict[str, Any]:
    about = data.space.ranges[key]
    scale = _scale(about, truth[key])
    ends = [(about.at(one.profiles[key].low), about.at(one.profiles[key].high)) for one in fits]
    halves = [(high - low) / 2 / scale for low, high in ends]
    errors = [(one.point[key] - truth[key]) / scale for one in fits]
    return {
        "key": about.path,
        "unit": about.unit,
        "truth": truth[key],
        "covered": sum(low <= truth[key] <= high for low, high in ends),
        "half_width_median": float(np.median(halves)),
        "half_width_most": max(halves),
        "error_mean": float(np.mean(errors)),
        "error_sd": float(np.std(errors, ddof=1)) if len(errors) > 1 else None,
    }


def _scale(about: Range, truth: float) -> float:
    """Reference for relative widths: the value, or the range's length if the value is zero."""
    return abs(truth) or about.high - about.low
