"""Runs of a fit: a scenario with keys set, once for each set of keys used in the measurements."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sojourn.base.errors import unknown
from sojourn.model.analysis.metrics import BY_COLUMN
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.fitting.data import QUANTILE, Data, Number
from sojourn.studies.fitting.observed import observed_value, required_probes
from sojourn.studies.fitting.search import Simulate
from sojourn.studies.fitting.space import Point
from sojourn.studies.fitting.surfaces import Array
from sojourn.studies.idle import idle_keys
from sojourn.studies.runs.runner import Run, Runner

Make = Callable[[Mapping[str, Any]], Scenario]
"""Builds the scenario with some keys set, by dotted path."""


def groups_of(data: Data) -> list[list[int]]:
    """Indices of the numbers that come from the same runs."""
    found: dict[tuple[tuple[str, Any], ...], list[int]] = {}
    for place, number in enumerate(data.numbers):
        found.setdefault(number.at, []).append(place)
    return list(found.values())


def simulator(data: Data, make: Make, runner: Runner) -> Simulate:
    """Create a function that runs points with seeds, all together, and measures the numbers."""
    groups = groups_of(data)
    settings = [dict(data.numbers[group[0]].at) for group in groups]
    probes = {key: value for number in data.numbers for key, value in required_probes(number.metric).items()}
    known: dict[tuple[str, int, int], Array] = {}

    def simulate(points: Sequence[tuple[Mapping[str, Any], Sequence[int]]]) -> list[Array]:
        wanted = [
            ((json.dumps(sets, sort_keys=True), place, seed), sets)
            for sets, seeds in points
            for place in range(len(groups))
            for seed in seeds
        ]
        missing = {key: sets for key, sets in wanted if key not in known}
        made = {key[:2]: make({**sets, **settings[key[1]], **probes}) for key, sets in missing.items()}
        results = runner([Run(made[key[:2]], key[2]) for key in missing])
        for key, result in zip(missing, results, strict=True):
            known[key] = np.array([value_of(result, data.numbers[place]) for place in groups[key[1]]])
        runner.done.clear()  # results are large; keep only the measured numbers
        found = []
        for sets, seeds in points:
            rows = np.empty((len(seeds), len(data.numbers)))
            for place, group in enumerate(groups):
                for row, seed in zip(rows, seeds, strict=True):
                    row[group] = known[json.dumps(sets, sort_keys=True), place, seed]
            found.append(rows)
        return found

    return simulate


def idle(data: Data, choices: Mapping[str, Any], point: Point, make: Make, runner: Runner) -> list[str]:
    """A sentence for each free key that changes no run, with the other keys at their best values."""
    settings = [dict(data.numbers[group[0]].at) for group in groups_of(data)]

    def with_place(key: int, place: float) -> dict[str, Any]:
        moved = [*point[:key], data.space.ranges[key].at(place), *point[key + 1 :]]
        return {**choices, **data.space.sets(tuple(moved))}

    ends = {
        one.path: [(make({**with_place(key, 0.0), **own}), make({**with_place(key, 1.0), **own})) for own in settings]
        for key, one in enumerate(data.space.ranges)
    }
    return idle_keys(ends, 1, runner)


def value_of(result: Result, number: Number) -> float:
    """Value of a measured number in a run, in its unit; NaN without samples, e.g. the delay without packets."""
    if number.link and number.link not in result.link_names:
        raise unknown("measured: link", number.link, result.link_names)
    if (value := observed_value(result, number.metric)) is not None:
        return value
    chosen = result.at(number.link) if number.link else result
    if match := QUANTILE.fullmatch(number.metric):
        found = chosen.sojourn_ms(float(match[1]) / 100)
        return float("nan") if found is None else found
    value = chosen.number(number.metric)
    return float("nan") if value is None else value * BY_COLUMN[number.metric].scale
