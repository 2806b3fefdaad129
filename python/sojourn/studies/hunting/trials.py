"""Evaluation of points: a run of each queue manager with a seed, and the margin of the condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf

from sojourn.base.errors import InputError
from sojourn.model.analysis.warmup import aligned
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.hunting.space import Point, Space
from sojourn.studies.runs.runner import Run, Runner
from sojourn.studies.sentences import Sentence


@dataclass
class Trials:
    """Evaluates points, and counts."""

    space: Space
    sentence: Sentence
    runner: Runner
    tell: Callable[[], None] = lambda: None
    """Called after each batch."""
    runs: int = 0
    """Number of requested runs."""
    refused: int = 0
    """Points that cannot run."""
    _known: dict[tuple[Scenario, int], float] = field(default_factory=dict)

    def margins(self, requests: Sequence[tuple[Point, int]]) -> list[float]:
        """Margins of the condition at points, each with its seed; minus infinity if a point cannot run."""
        scenarios = [self._scenarios(point) for point, _ in requests]
        keys = [(made[0], seed) if made else None for made, (_, seed) in zip(scenarios, requests, strict=True)]
        missing = {key: made for key, made in zip(keys, scenarios, strict=True) if key and key not in self._known}
        runs = [Run(scenario, key[1]) for key, made in missing.items() for scenario in made]
        results = self.runner(runs)
        self.runs += len(runs)
        each = len(self.space.aqms)
        for place, key in enumerate(missing):
            self._known[key] = self.sentence.margin(aligned(results[place * each : (place + 1) * each]))
        self.runner.done.clear()  # results are large; keep only the margins
        self.tell()
        return [self._known[key] if key else -inf for key in keys]

    def holds(self, point: Point, seeds: Sequence[int]) -> bool:
        """Whether a point satisfies the condition with the first seed and all but one of the others."""
        first, *others = seeds
        if self.margins([(point, first)])[0] <= 0:
            return False
        return sum(margin <= 0 for margin in self.margins([(point, seed) for seed in others])) <= 1

    def results(self, point: Point, seeds: Sequence[int]) -> list[list[Result]]:
        """The runs of a point, seed by seed, for each queue manager."""
        made = [self.space.scenario(point, aqm) for aqm in range(len(self.space.aqms))]
        results = self.runner([Run(scenario, seed) for seed in seeds for scenario in made])
        self.runs += len(results)
        self.tell()
        return [aligned(results[place : place + len(made)]) for place in range(0, len(results), len(made))]

    def _scenarios(self, point: Point) -> list[Scenario]:
        """A scenario for each queue manager; empty if the point cannot run."""
        try:
            return [self.space.scenario(point, aqm) for aqm in range(len(self.space.aqms))]
        except InputError:
            self.refused += 1
            return []
