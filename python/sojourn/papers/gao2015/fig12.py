"""Figure 12: delay over time while the rate of the link changes in steps.

Two curves are "similar" if in every step of the rate their means are within a quarter of each other, and their maxima
within a factor of two (the buffers differ by a factor of 2.4, so two full ones would be distinguished).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING

import polars as pl

from sojourn.figures import marks
from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.figures.scales import LOWEST_MS
from sojourn.papers.gao2015.analysis import CODEL, HARD_LIMIT, grid
from sojourn.papers.gao2015.dynamic import EMULATED, LAST_FALL, RATES, SMALL, STEP_S, STUDY, first_runs, runs, sent
from sojourn.papers.gao2015.original import as_original, samples
from sojourn.papers.judge import Check, Measurements, Verdict, all_checks, relations_by_claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.model.results.result import Result
    from sojourn.papers.original import Original
    from sojourn.studies.study import StudyResult

__all__ = ["EMULATED", "RELATIONS", "STUDY", "TITLE", "draw", "measure", "original"]

TITLE = "Figure 12: delay over time, link rate in steps"

NEAR_MEAN = 1.25
NEAR_MAX = 2.0


def measure(result: StudyResult) -> Measurements:
    """Mean and maximum delay in every step of the rate."""
    return _measured(pl.concat([_steps(scheme, one) for scheme, one in runs(result)]))


def original() -> Original:
    """Mean and maximum delay of the authors' samples, ten a second."""
    delay = pl.col("delay_ms")
    steps = samples().group_by("scheme", "step", "seed").agg(mean_ms=delay.mean(), max_ms=delay.max().cast(pl.Float64))
    return as_original(_measured(steps))


def _measured(cells: pl.DataFrame) -> Measurements:
    codel = cells.filter((pl.col("scheme") == CODEL) & (pl.col("step") == LAST_FALL))
    hard_limit = cells.filter(pl.col("scheme") == HARD_LIMIT).group_by("seed", maintain_order=True)
    samples = {
        "S1-F12-CoDel": codel["max_ms"].to_list(),
        "S1-F12-HL": hard_limit.agg(pl.col("max_ms").max())["max_ms"].to_list(),
    }
    return Measurements(samples, cells, ("scheme", "step"), RELATIONS)


def _steps(scheme: str, one: Result) -> pl.DataFrame:
    step = (pl.col("time_s") / STEP_S).floor().cast(pl.Int64).clip(0, len(RATES) - 1).alias("step")
    delay = pl.col("sojourn_ms")
    means = sent(one).group_by(step).agg(mean_ms=delay.mean(), max_ms=delay.max()).sort("step")
    return means.with_columns(scheme=pl.lit(scheme), seed=pl.lit(one.seed))


@all_checks
def S1_F12_small(cells: pl.DataFrame) -> Iterator[Check]:
    """CoDel with a buffer of 417 packets has about the same delay as with 1000, in every step."""
    mean, top = (grid(cells, value, "scheme", "step") for value in ("mean_ms", "max_ms"))
    for step, (statistic, delay, ratio) in product(
        range(len(RATES)), (("mean", mean, NEAR_MEAN), ("largest", top, NEAR_MAX))
    ):
        one, other = delay[CODEL, step], delay[SMALL, step]
        where = f"step {step + 1} ({RATES[step]} Mbit/s), {statistic}"
        yield Check(_near(one, other, ratio), f"{where}: {one:.4g} and {other:.4g} ms")


def _near(one: float, other: float, ratio: float) -> bool:
    return max(one, other) <= ratio * min(one, other)


RELATIONS = relations_by_claim([S1_F12_small])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw the maximum delay of every second, of the first seed."""
    shown = first_runs(result)
    second = (pl.col("time_s").floor() + 0.5).alias("second")
    with style():
        figure = new_figure(8.0, 4.4)
        axes = figure.subplots()
        for (scheme, one), curve in zip(shown.items(), curves(len(shown)), strict=True):
            tops = sent(one).group_by(second).agg(pl.col("sojourn_ms").max()).sort("second")
            marks.line(axes, tops["second"], tops["sojourn_ms"].clip(LOWEST_MS), scheme, **curve)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"≤{value:g}" if value <= LOWEST_MS else f"{value:g}")
        for step, rate in enumerate(RATES):
            axes.text(
                (step + 0.5) * STEP_S,
                0.98,
                f"{rate} Mbit/s",
                ha="center",
                va="top",
                transform=axes.get_xaxis_transform(),
            )
            axes.axvline(step * STEP_S, color="0.8", linewidth=0.8)
        axes.set_ylim(LOWEST_MS, 10_000)
        axes.set_xlim(0, STEP_S * len(RATES))
        axes.set_xlabel("time [s]   (maximum of each second)")
        axes.set_ylabel("delay [ms]")
        legend(axes.figure)
        return figure
