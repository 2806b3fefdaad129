"""Rows run: their numbers by queue manager and seed, with as many seeds as the intervals take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from sojourn.analysis.replicate import until_narrow
from sojourn.analysis.stats import sample_ci
from sojourn.results.result import Result
from sojourn.runs.runner import Runner
from sojourn.score.grades import BANDS
from sojourn.score.numbers import NUMBERS, mean
from sojourn.score.plan import Plan, Wanted

PERCENT = 5.0
"""Widest half width of a 95 % interval, in percent of the mean, with which no more seeds are added."""
FEWEST_SEEDS = 5
MOST_SEEDS = 20
Samples = dict[str, dict[str, list[float | None]]]
"""By what was run and by number: a value per seed, over the points of the row."""


@dataclass(frozen=True)
class Done:
    """A row that was run."""

    plan: Plan
    samples: Samples = field(default_factory=dict)
    points: Mapping[str, Sequence[tuple[str, float]]] = field(default_factory=dict)
    """By what was run: the row's own number at each point, where it has several."""
    results: Sequence[Result] = ()
    """Point after point, seed after seed."""
    seeds: Sequence[int] = ()
    widest_percent: float = inf
    """Widest half width of a graded number whose interval is not within one grade, in percent of the mean."""
    prints: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By what was run: the fingerprints of its runs."""


def done(plan: Plan, wanted: Wanted, runner: Runner) -> Done:
    """Run a row; what is not run comes back as it is."""
    if plan.study is None:
        return Done(plan)
    study = plan.study

    def run(seeds: list[int]) -> Done:
        return _read(replace(plan, study=replace(study, seeds=seeds)), runner)

    def judge(found: Done) -> tuple[float, bool]:
        return _widest(found, wanted), any(len(set(prints)) > 1 for prints in found.prints.values())

    if wanted.seeds or wanted.quick:
        found = run(study.seeds)
        return replace(found, widest_percent=judge(found)[0])
    found, widest, _, _ = until_narrow(PERCENT, MOST_SEEDS, FEWEST_SEEDS, run, judge)
    return replace(found, widest_percent=widest)


def _read(plan: Plan, runner: Runner) -> Done:
    study = plan.study
    assert study is not None
    result = study.run_by(runner)
    by_text: dict[str, dict[int, list[Result]]] = {}
    for values, one in result.with_values():
        by_text.setdefault(_text(values), {}).setdefault(one.seed, []).append(one)
    samples = {
        text: {name: [_over_points(name, of_seed) for of_seed in by_seed.values()] for name in plan.row.numbers}
        for text, by_seed in by_text.items()
    }
    prints = {
        text: [" ".join(one.fingerprint for one in of_seed) for of_seed in by_seed.values()]
        for text, by_seed in by_text.items()
    }
    points = _by_point(plan, result.with_values()) if len(study.points) > len(by_text) else {}
    return Done(plan, samples, points, result.results, study.seeds, prints=prints)


def _text(values: Mapping[str, object]) -> str:
    return str(values["link.aqm"])


def _over_points(name: str, results: Sequence[Result]) -> float | None:
    values = [value for one in results if (value := NUMBERS[name].of(one)) is not None]
    return mean(values) if values else None


def _by_point(plan: Plan, found: object) -> dict[str, list[tuple[str, float]]]:
    number = NUMBERS[plan.row.numbers[0]]
    values: dict[str, dict[str, list[float]]] = {}
    for swept, one in found:  # type: ignore[attr-defined]
        place = ", ".join(str(value) for path, value in swept.items() if not path.endswith("aqm"))
        if (value := number.of(one)) is not None:
            values.setdefault(_text(swept), {}).setdefault(place, []).append(value)
    return {text: [(place, mean(all_of)) for place, all_of in by_place.items()] for text, by_place in values.items()}


def _widest(found: Done, wanted: Wanted) -> float:
    """Widest half width of all graded numbers, in percent of the mean; of an interval within one grade nothing."""
    widest = 0.0
    for numbers in found.samples.values():
        for name, values in numbers.items():
            band = BANDS.get(NUMBERS[name].band)
            there = [value for value in values if value is not None]
            if band is None or not there:
                continue
            middle, half = sample_ci(there)
            if half is None:
                continue
            slowness = wanted.profile.slowness
            if band.grade(middle - half, slowness) != band.grade(middle + half, slowness) and middle:
                widest = max(widest, 100 * half / abs(middle))
    return widest
