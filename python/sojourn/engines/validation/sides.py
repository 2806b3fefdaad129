"""A scenario on the simulator and on another engine: the numbers that are compared, and how far apart they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from sojourn import _core
from sojourn.engines import SIMULATE
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.runs.runner import Run, Runner

Numbers = Mapping[str, float]
"""Payload delivered in order in Mbit/s, p50, p95 and mean of the delay in the queue in ms, drop and mark rate in
percent, and Jain's index."""


@dataclass(frozen=True)
class Bands:
    """How near two engines have to be: payload as a share; the delay named as a share, or in ms if that is more."""

    delivered: float
    delay_key: str
    delay: float
    delay_ms: float

    def distance(self, here: Numbers, there: Numbers) -> float:
        """How far apart, in bands."""
        delivered = abs(here["delivered"] / there["delivered"] - 1) / self.delivered if there["delivered"] else 0.0
        return max(delivered, abs(here[self.delay_key] - there[self.delay_key]) / self.delay_band(there))

    def delay_band(self, there: Numbers) -> float:
        """Band of the delay, in ms."""
        return max(self.delay * there[self.delay_key], self.delay_ms)


class Sides:
    """Runs on both; the other engine's are kept in a folder of results, simulations are made anew each time."""

    def __init__(
        self,
        root: Path | None,
        jobs: int | None = None,
        *,
        progress: Callable[[float, int, int], None] | None = None,
        runner: Any = None,
    ) -> None:
        self.there = runner or Runner(root, jobs, progress=progress)
        self.here = runner or Runner(None, jobs)

    def numbers(self, scenarios: Sequence[Scenario], seed: int, engine: str) -> list[dict[str, float]]:
        """Numbers of one run of each scenario."""
        runner = self.here if engine == SIMULATE else self.there
        results = runner([Run(scenario, seed, engine) for scenario in scenarios])
        return [numbers(result.totals) for result in results]

    def is_finished(self, scenario: Scenario, seed: int, engine: str) -> bool:
        """Whether the other engine has run it."""
        return self.there.find(Run(scenario, seed, engine)) is not None


def numbers(totals: Mapping[str, Any]) -> dict[str, float]:
    """What is compared of a run."""
    link = totals["links"]["forward"]
    return {
        "delivered": totals["delivered_bps"] / 1e6,
        "delay": link["sojourn_ms"]["p50"] or 0.0,
        "tail": link["sojourn_ms"]["p95"] or 0.0,
        "mean": link["sojourn_ms"]["mean"] or 0.0,
        "drops": 100 * link["drop_rate"],
        "marks": 100 * link["mark_rate"],
        "jain": _core.jain([flow["delivered_bps"] for flow in totals["flows"] if flow["direction"] == "forward"]),
    }


def means(runs: Sequence[Numbers]) -> dict[str, float]:
    """Means over runs."""
    return {key: fmean(run[key] for run in runs) for key in runs[0]}


def standard_error(runs: Sequence[Numbers], key: str) -> float:
    """Standard error of a mean; 0 for one run."""
    return stdev(run[key] for run in runs) / sqrt(len(runs)) if len(runs) > 1 else 0.0
