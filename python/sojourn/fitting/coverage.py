"""Whether the intervals of a fit hold what they promise: fits of numbers that were simulated with known values."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sojourn.fitting.data import Data
from sojourn.fitting.fit import Fitted, Simulate, fit
from sojourn.fitting.space import Point

DATA_SEEDS = 700_000
"""Seeds of the runs that stand for measurements begin here."""


def coverage(
    data: Data,
    choices: Mapping[str, Any],
    truth: Point,
    groups: Sequence[Sequence[int]],
    simulate: Simulate,
    trials: int,
    tell: Callable[[int], None] = lambda _done: None,
) -> dict[str, Any]:
    """Simulate the numbers so many times with known values, fit each, and count the intervals that hold these.

    A number without a band is the mean of as many runs as it says; one with a band is the simulation's mean with a
    deviation drawn from that. `tell` is told how many trials are done.
    """
    fits = []
    for trial in range(trials):
        made = simulated(data, choices, truth, simulate, trial)
        fits.append(fit(made, choices, groups, simulate, seed=2 + trial))
        tell(trial + 1)
    return {"trials": trials, "keys": [_key(data, truth, fits, key) for key in range(len(truth))]}


def simulated(data: Data, choices: Mapping[str, Any], truth: Point, simulate: Simulate, trial: int) -> Data:
    """The data with the numbers that one trial measures."""
    sets = {**choices, **data.space.sets(truth)}
    most = max([number.runs for number in data.numbers] + ([MANY] if any(one.sd for one in data.numbers) else []))
    first = DATA_SEEDS + trial * most
    [runs] = simulate([(sets, range(first, first + most))])
    draw = random.Random(f"trial {trial}")
    numbers = []
    for place, number in enumerate(data.numbers):
        own = runs[: number.runs, place] if number.sd is None else runs[:, place]
        numbers.append(replace(number, value=float(own.mean()) + (draw.gauss(0, number.sd) if number.sd else 0.0)))
    return replace(data, numbers=tuple(numbers))


MANY = 10
"""Runs whose mean stands for what a number with a band is a measurement of."""


def _key(data: Data, truth: Point, fits: Sequence[Fitted], key: int) -> dict[str, Any]:
    about = data.space.ranges[key]
    # Of a value of zero nothing is a share: then it is one of the range.
    scale = abs(truth[key]) or about.high - about.low
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
