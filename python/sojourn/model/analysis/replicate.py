"""Replication until a requested precision is reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TypeVar

from sojourn.base.errors import InputError, unknown
from sojourn.base.late import pl
from sojourn.model.analysis.metrics import ALL

Outcome = TypeVar("Outcome")

MIN_SEEDS = 5
"""Minimum replications before the first check: fewer samples are too often alike by chance, which would stop too early.
"""


@dataclass(frozen=True)
class Precision:
    """Goal: replicate until the half width of a metric's 95 % confidence interval is small relative to its mean."""

    percent: float
    """Maximum half width, in percent of the mean."""
    metric: str = "sojourn_mean_ms"
    """Column of the summary."""
    most: int = 100
    """Maximum number of seeds."""

    def __post_init__(self) -> None:
        known = [metric.column for metric in ALL]
        if self.metric not in known:
            raise unknown("--metric: metric", self.metric, known)
        if not self.percent > 0:
            raise InputError(f"--until: {self.percent:g}% cannot be reached; write e.g. 5%")
        if self.most < 2:
            raise InputError(f"--max-seeds: {self.most} gives no confidence interval; write e.g. 100")


@dataclass(frozen=True)
class AchievedPrecision:
    """Precision of the results."""

    goal: Precision
    seeds: int
    widest_percent: float
    """Maximum half width over all rows, in percent of the mean; infinite if a row has no interval."""
    varies: bool = True
    """Whether every row has several distinct runs; otherwise more seeds do not improve the precision."""

    @property
    def reached(self) -> bool:
        """Whether every row meets the goal."""
        return self.widest_percent <= self.goal.percent


def replicate(
    goal: Precision, seeds: int, run: Callable[[list[int]], Outcome], table: Callable[[Outcome], pl.DataFrame]
) -> tuple[Outcome, AchievedPrecision]:
    """Run with seeds 1 to `seeds`, then more, until every row of the table meets the goal or `goal.most` is reached.

    Stops if a row has a single distinct run, which no replication makes more precise. All rows use the same seeds, so
    differences stay paired. The next number of seeds depends only on the widest row, whose half width shrinks with the
    square root of that number, and at most doubles: the same results give the same steps on every machine.
    """

    def judged(outcome: Outcome) -> tuple[float, bool]:
        rows = table(outcome)
        return widest_percent(rows, goal.metric), bool((rows["distinct"] > 1).all())

    outcome, widest, varies, count = until_narrow(goal.percent, goal.most, seeds, run, judged)
    return outcome, AchievedPrecision(goal, count, widest, count < 2 or varies)


def until_narrow(
    percent: float,
    most: int,
    seeds: int,
    run: Callable[[list[int]], Outcome],
    judge: Callable[[Outcome], tuple[float, bool]],
) -> tuple[Outcome, float, bool, int]:
    """Like `replicate`, with a `judge` that returns the widest half width in percent and whether results vary by seed.

    Returns the outcome, the judge's two values, and the number of seeds.
    """
    count = min(max(seeds, MIN_SEEDS), most)
    while True:
        outcome = run(list(range(1, count + 1)))
        widest, varies = judge(outcome)
        if widest <= percent or (count >= 2 and not varies) or count >= most:
            return outcome, widest, varies, count
        needed = ceil(min(2.0, (widest / percent) ** 2) * count - 1e-9)  # 25, not 25.000…1
        count = min(max(count + 1, needed), most)


def widest_percent(table: pl.DataFrame, metric: str) -> float:
    """Maximum half width of a metric over the rows of an aggregated table, in percent of the mean.

    Rows without the metric, such as the sojourn time of a link that sent nothing, are skipped.
    """
    if metric not in table.columns:
        raise InputError(f"--metric: {metric} is a measure of Flent's tests (compare --test); choose another metric")
    rows: Sequence[tuple[float | None, float | None]] = table.select(metric, f"{metric}_ci95").rows()
    return max((_percent(mean, half) for mean, half in rows if mean is not None), default=0.0)


def _percent(mean: float, half: float | None) -> float:
    if half is None:
        return float("inf")
    return 100 * half / abs(mean) if mean else 0.0 if half == 0 else float("inf")
