"""A scenario on the simulator and on another engine: the compared metrics and their distance."""

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

Metrics = Mapping[str, float]
"""Payload delivered in order in Mbit/s, p50, p95 and mean of the delay in the queue in ms, drop and mark rate in
percent, and Jain's index."""


@dataclass(frozen=True)
class Bands:
    """Tolerances: relative for the payload; for the delay `delay_key` relative, or in ms if that is more."""

    delivered: float
    delay_key: str
    delay: float
    delay_ms: float

    def distance(self, here: Metrics, there: Metrics) -> float:
        """Maximum difference, in bands."""
        delivered = abs(here["delivered"] / there["delivered"] - 1) / self.delivered if there["delivered"] else 0.0
        return max(delivered, abs(here[self.delay_key] - there[self.delay_key]) / self.delay_band(there))

    def delay_band(self, there: Metrics) -> float:
        """Band of the delay in ms."""
        return max(self.delay * there[self.delay_key], self.delay_ms)


class EnginePair:
    """Runs on both engines; the other engine's results are stored in a folder, simulations are repeated each time."""

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

    def metrics(self, scenarios: Sequence[Scenario], seed: int, engine: str) -> list[dict[str, float]]:
        """Metrics of one run per scenario."""
        runner = self.here if engine == SIMULATE else self.there
        results = runner([Run(scenario, seed, engine) for scenario in scenarios])
        return [metrics(result.totals) for result in results]

    def is_finished(self, scenario: Scenario, seed: int, engine: str) -> bool:
        """Whether a result of the other engine is stored."""
        return self.there.find(Run(scenario, seed, engine)) is not None


def metrics(totals: Mapping[str, Any]) -> dict[str, float]:
    """Compared metrics of a run."""
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


def means(runs: Sequence[Metrics]) -> dict[str, float]:
    """Means over runs, by metric."""
    return {key: fmean(run[key] for run in runs) for key in runs[0]}


def standard_error(runs: Sequence[Metrics], key: str) -> float:
    """Standard error of a metric's mean; 0 for one run."""
    return stdev(run[key] for run in runs) / sqrt(len(runs)) if len(runs) > 1 else 0.0
