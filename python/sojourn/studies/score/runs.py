"""Runs of the rows: their numbers by queue manager and seed, with as many seeds as the intervals need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from math import inf, log
from typing import Any

import polars as pl

from sojourn.model.analysis.replicate import MIN_SEEDS, until_narrow
from sojourn.model.analysis.stats import sample_ci
from sojourn.model.aqms.spelling import spelled_aqm
from sojourn.model.results.result import Result
from sojourn.studies.runs.runner import Runner
from sojourn.studies.score.grades import BANDS
from sojourn.studies.score.numbers import NUMBERS, Number, mean, of_group
from sojourn.studies.score.plan import Plan, ScoreSettings
from sojourn.studies.score.versions import parameter_of, parsed_aqm

PERCENT = 5.0
"""Maximum half width of a 95 % interval, in percent of the mean, at which no more seeds are added."""
MAX_SEEDS = 20
ByText = dict[str, dict[int, dict[str, Result]]]
"""By variant, seed and point of the row."""
PointNumbers = tuple[str, dict[str, float]]
"""A point of a row, and its numbers by name."""
Samples = dict[str, dict[str, list[float | None]]]
"""By variant and number: a value per seed, over the points of the row."""


@dataclass(frozen=True)
class RowResult:
    """A completed row."""

    plan: Plan
    samples: Samples = field(default_factory=dict)
    points: Mapping[str, Sequence[PointNumbers]] = field(default_factory=dict)
    """By variant: numbers at each point, if the row has several."""
    results: Sequence[Result] = ()
    """Ordered by point, then seed."""
    seeds: Sequence[int] = ()
    widest_percent: float = inf
    """Maximum half width of a graded number whose interval spans several grades, in percent of the mean."""
    prints: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By variant: the fingerprints of its runs."""
    idle: Sequence[str] = ()
    """A sentence for each swept key, except the queue manager, that changes no run."""


def run_row(plan: Plan, wanted: ScoreSettings, runner: Runner) -> RowResult:
    """Run a row; a row that is not run is returned without results."""
    if plan.row.facts:
        return RowResult(plan, {aqm: {name: [FACTS[name](aqm)] for name in plan.row.numbers} for aqm in plan.own})
    if plan.study is None:
        return RowResult(plan)
    study = plan.study

    def run(seeds: list[int]) -> RowResult:
        alone = plan.alone and replace(plan.alone, seeds=seeds)
        return _read(replace(plan, study=replace(study, seeds=seeds), alone=alone), runner)

    def judge(found: RowResult) -> tuple[float, bool]:
        return _widest(found), any(len(set(prints)) > 1 for prints in found.prints.values())

    if wanted.seeds or wanted.quick or plan.row.large:
        found = run(study.seeds)
        return replace(found, widest_percent=judge(found)[0])
    found, widest, _, _ = until_narrow(PERCENT, MAX_SEEDS, MIN_SEEDS, run, judge)
    return replace(found, widest_percent=widest)


def _read(plan: Plan, runner: Runner) -> RowResult:
    study = plan.study
    assert study is not None
    result = study.run_by(runner)
    by_text: ByText = {}
    for values, one in result.with_values():
        place = ", ".join(str(value) for path, value in values.items() if not path.endswith("aqm"))
        by_text.setdefault(str(values["link.aqm"]), {}).setdefault(one.seed, {})[place] = one
    prints = {
        text: [" ".join(one.fingerprint for one in of_seed.values()) for of_seed in by_seed.values()]
        for text, by_seed in by_text.items()
    }
    if plan.row.versions == "halves":
        samples, points = _elasticities(plan, by_text)
    else:
        alone = _alone(plan, runner)
        samples = {
            text: {name: [_over_points(name, of_seed, alone, plan) for of_seed in by_seed.values()] for name in numbers}
            for numbers in [plan.row.numbers]
            for text, by_seed in by_text.items()
        }
        points = (
            _by_point(plan.row.at_points or plan.row.numbers[:1], by_text) if len(study.points) > len(by_text) else {}
        )
    idle = result.idle_of(study.beside_the_aqm_axes)
    return RowResult(plan, samples, points, result.results, study.seeds, prints=prints, idle=idle)


def _over_points(name: str, results: Mapping[str, Result], alone: Mapping[int, float], plan: Plan) -> float | None:
    """A number of one seed: the mean over the points of the row."""
    if name == PAGES:
        assert plan.row.alone is not None
        values = [
            time / alone[one.seed]
            for one in results.values()
            if (time := of_group(plan.row.alone, COMPLETION, one)) is not None
        ]
    else:
        values = [value for one in results.values() if (value := NUMBERS[name].of(one)) is not None]
    return mean(values) if values else None


def _alone(plan: Plan, runner: Runner) -> dict[int, float]:
    """Mean time of the row's pages without other traffic, by seed."""
    if plan.alone is None:
        return {}
    results = plan.alone.run_by(runner).results
    return {one.seed: time for one in results if (time := of_group(0, COMPLETION, one)) is not None}


def _by_point(names: Sequence[str], by_text: ByText) -> dict[str, list[PointNumbers]]:
    """Numbers at each point, means over the seeds; numbers without any value are omitted."""
    found: dict[str, list[PointNumbers]] = {}
    for text, by_seed in by_text.items():
        places: dict[str, dict[str, list[float]]] = {}
        for of_seed in by_seed.values():
            for place, one in of_seed.items():
                values = places.setdefault(place, {})
                for name in names:
                    if (value := NUMBERS[name].of(one)) is not None:
                        values.setdefault(name, []).append(value)
        found[text] = [(place, {name: mean(of) for name, of in values.items()}) for place, values in places.items()]
    return found


def _elasticities(plan: Plan, by_text: ByText) -> tuple[Samples, dict[str, list[PointNumbers]]]:
    """The largest elasticity over the parameters, by seed; and that of each parameter for the row's main number."""
    samples: Samples = {}
    points: dict[str, list[PointNumbers]] = {}
    for aqm, (_, *changed) in plan.own.items():
        pairs = list(zip(changed[::2], changed[1::2], strict=True))
        samples[aqm] = {}
        for name in plan.row.numbers:
            of_pairs = [
                [
                    _elasticity(NUMBERS[name], one, other)
                    for one, other in zip(by_text[low].values(), by_text[high].values(), strict=True)
                ]
                for low, high in pairs
            ]
            samples[aqm][name] = [max(of_seed) for of_seed in zip(*of_pairs, strict=True)]
            if name == plan.row.numbers[0]:
                points[aqm] = [
                    (parameter_of(aqm, low), {name: mean(values)})
                    for (low, _), values in zip(pairs, of_pairs, strict=True)
                ]
    return samples, points


def _elasticity(number: Number, half: Mapping[str, Result], double: Mapping[str, Result]) -> float:
    """Absolute change of a number's logarithm per change of the parameter's; 0 if either is 0."""
    low, high = (number.of(one) for of_seed in (half, double) for one in of_seed.values())
    return abs(log(high / low)) / log(4) if low and high else 0.0


def _widest(found: RowResult) -> float:
    """Maximum half width of all graded numbers, in percent of the mean; intervals within one grade count as 0."""
    widest = 0.0
    slowness = found.plan.slowness
    for numbers in found.samples.values():
        for name, values in numbers.items():
            band = BANDS.get(NUMBERS[name].band)
            there = [value for value in values if value is not None]
            if band is None or not there:
                continue
            middle, half = sample_ci(there)
            if half is None or not middle:
                continue
            if band.grade(middle - half, slowness) != band.grade(middle + half, slowness):
                widest = max(widest, 100 * half / abs(middle))
    return widest


@cache
def _instructions() -> dict[str, float]:
    """Instructions by queue manager, as recorded by `make bench-record BENCH=queues`."""
    table = pl.read_csv((files("sojourn.studies.score") / "instructions.csv").read_bytes())
    return {spelled_aqm(name): float(count) for name, count in table.select("discipline", "instructions").iter_rows()}


FACTS: Mapping[str, Callable[[str], float | None]] = {
    "state_bytes": lambda aqm: float(parsed_aqm(aqm)["state_bytes"]),
    "instructions": lambda aqm: _instructions().get(aqm),
    "parameters": lambda aqm: float(len(parsed_aqm(aqm)["params"])),
}
"""Numbers that are properties of a queue manager."""
PAGES = "page_ratio"
COMPLETION = "completion_ms.mean"


def by_aqm(one: RowResult) -> dict[str, list[Result]]:
    """Results of each queue manager, seed by seed, for a row with one point."""
    return {aqm: [result for _, result in runs] for aqm, runs in with_values(one).items()}


def with_values(one: RowResult) -> dict[str, list[tuple[Mapping[str, Any], Result]]]:
    """Runs of each queue manager with the values of their points."""
    found: dict[str, list[tuple[Mapping[str, Any], Result]]] = {}
    assert one.plan.study is not None
    for place, result in enumerate(one.results):
        values = one.plan.study.points[place // len(one.seeds)].values
        found.setdefault(str(values["link.aqm"]), []).append((values, result))
    return {aqm: found[own[0]] for aqm, own in one.plan.own.items()}
