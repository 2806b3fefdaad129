"""Common analysis of the figures: a metric of the forward link over bandwidth or number of FTPs, by scheme."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.papers.cells import draw_line
from sojourn.papers.judge import Measurements

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from matplotlib.figure import Figure

    from sojourn.papers.judge import Relation
    from sojourn.studies.study import StudyResult

SCHEMES = {"droptail": "DropTail", "codel@ns2-2012": "CoDel", "sfqcodel": "sfqCoDel", "codel_dt": "CoDel-DT"}
RATES_MBIT = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
FTPS = (1, 3, 5, 7, 10, 15, 20, 30, 60, 100, 150, 200, 300, 400, 500, 700, 800, 900, 1000)
RTTS_MS = (10, 20, 40, 80, 160, 320)
FAMILY = ("CoDel", "sfqCoDel", "CoDel-DT")
METRICS = {"utilisation": "utilisation", "mean_backlog_packets": "queue", "drop_rate": "drop_rate"}
LABELS = {
    "utilisation": "utilisation of the bottleneck",
    "queue": "mean queue length [packets]",
    "drop_rate": "drop rate",
    "rate_mbit": "bandwidth [Mbit/s]",
    "ftps": "forward FTPs",
}

Series = dict[float, float]
"""Values of one scheme, by bandwidth in Mbit/s or by number of FTPs."""


def over_bandwidth(result: StudyResult, relations: Mapping[str, Relation]) -> Measurements:
    """Cells of `bandwidth.toml`."""
    return Measurements({}, bandwidth_cells(result), ("scheme", "rate_mbit"), relations)


def over_ftps(result: StudyResult, relations: Mapping[str, Relation]) -> Measurements:
    """Cells of `ftps.toml`."""
    return Measurements({}, ftp_cells(result), ("scheme", "ftps"), relations)


def bandwidth_cells(result: StudyResult) -> pl.DataFrame:
    """One row per run: `scheme`, `rate_mbit`, `seed` and the metrics."""
    return cells_of(result, [number("link.rate").alias("rate_mbit")])


def ftp_cells(result: StudyResult) -> pl.DataFrame:
    """One row per run: `scheme`, `ftps`, `seed` and the metrics."""
    return cells_of(result, [pl.col("flows.0.count").cast(pl.Float64).alias("ftps")])


def cells_of(result: StudyResult, places: Iterable[pl.Expr]) -> pl.DataFrame:
    """One row per run: `scheme`, the swept `places`, `seed` and the metrics."""
    scheme = pl.col("link.aqm").replace_strict(SCHEMES).alias("scheme")
    return result.runs.select(scheme, *places, "seed", *(pl.col(name).alias(as_) for name, as_ in METRICS.items()))


def number(column: str) -> pl.Expr:
    """Value of a quantity without its unit."""
    return pl.col(column).str.split(" ").list.first().cast(pl.Float64)


def by_scheme(cells: pl.DataFrame, over: str, metric: str) -> dict[str, Series]:
    """Series of every scheme."""
    rows = cells.sort(over)
    return {
        name: dict(rows.filter(pl.col("scheme") == name).select(over, metric).iter_rows()) for name in SCHEMES.values()
    }


def never_rises(series: Series, slack: float) -> bool:
    """Whether no value exceeds its predecessor by more than `slack`."""
    return all(after <= before + slack for before, after in pairwise(series.values()))


def never_falls(series: Series, slack: float) -> bool:
    """Whether no value is below its predecessor by more than `slack`."""
    return all(after >= before - slack for before, after in pairwise(series.values()))


def draw_sweep(cells: pl.DataFrame, over: str, metric: str, *, log: bool = False) -> Figure:
    """Draw a curve per scheme with 95 % confidence intervals; `log` applies to the axis of the metric."""
    with style():
        figure = new_figure(7.0, 4.0)
        axes = figure.subplots()
        for scheme, curve, marker in zip(SCHEMES.values(), curves(len(SCHEMES)), "os^D", strict=True):
            own = cells.filter(pl.col("scheme") == scheme)
            draw_line(axes, own, over, metric, marker=marker, label=scheme, **curve)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel(LABELS[over])
        axes.set_ylabel(LABELS[metric])
        if log:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        else:
            axes.set_ylim(bottom=0)
        legend(axes.figure)
        return figure
