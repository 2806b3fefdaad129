"""Figure 2: distribution of the queueing delay with 16 flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import Channels
from sojourn.figures.distribution import distributions, draw_distribution
from sojourn.model.analysis.labels import Name
from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.schwarzkopf2016.analysis import PACKET_MS, cells_of, per_seed, runs, without_act

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.model.results.result import Result
    from sojourn.studies.study import StudyResult

TITLE = "Figure 2: CDF of the queueing delay, 16 flows"
STUDY = "fig2.toml"


def measure(result: StudyResult) -> Measurements:
    """Shares of packets, moments and the most frequent delay of every run."""
    cells = cells_of([{"aqm": aqm, "seed": seed, **_row(one)} for aqm, _, seed, one in runs(result)])
    samples = {
        "S0-F2-a": per_seed(cells, lambda cell: _of(cell, "CoDel")["zero"], "CoDel"),
        "S0-F2-b": per_seed(cells, lambda cell: _of(cell, "CoDel")["to_20"], "CoDel"),
        "S0-F2-c": per_seed(cells, lambda cell: _of(cell, "CoDel-ACT")["below_10"], "CoDel-ACT"),
        "S0-F2-g": per_seed(
            cells,
            lambda cell: (_of(cell, "CoDel")["bias"] + _of(cell, "CoDel-ACT")["bias"]) / 2,
            "CoDel",
            "CoDel-ACT",
        ),
    }
    return Measurements(samples, cells, ("aqm",), RELATIONS)


def _row(one: Result) -> dict[str, Any]:
    histogram = one.histogram.filter(pl.col("link") == "forward").sort("lower_ms")
    lower, upper, count = (histogram[name].to_numpy() for name in ("lower_ms", "upper_ms", "count"))
    total, middle = count.sum(), (lower + upper) / 2
    zero = count[lower == 0].sum() / total
    mean = one.summary["sojourn_mean_ms"][0]
    at = np.linspace(2, 18, 65)
    cdf = np.array([count[upper <= ms].sum() for ms in at]) / total
    line = np.linspace(cdf[0], cdf[-1], len(at))
    per_ms, edges = np.histogram(middle[lower > 0], np.arange(0, 61), weights=count[lower > 0])
    return {
        "zero": zero,
        "to_20": count[upper <= 20].sum() / total - zero,
        "below_10": count[upper <= 10].sum() / total,
        "above_25": count[lower > 25].sum() / total,
        "mean_ms": mean,
        "std_ms": float(np.sqrt((count * (middle - mean) ** 2).sum() / total)),
        "mode_ms": edges[per_ms.argmax()] + 0.5,
        "line_deviation": float(np.abs(cdf - line).max()),
        # Mean queue in packets beyond the delivered ones (Little's law).
        "bias": one.links["mean_backlog_packets"][0] - mean / PACKET_MS,
    }


@without_act
def S0_F2_b2(cells: pl.DataFrame) -> bool:
    """CoDel: between 2 and 18 ms the CDF is within 0.1 of the straight line through its ends."""
    return _of(cells, "CoDel")["line_deviation"] < 0.10


def S0_F2_d(cells: pl.DataFrame) -> bool:
    """CoDel-ACT: fewer packets without any delay than CoDel; the most frequent delay is between 4 and 8 ms."""
    act = _of(cells, "CoDel-ACT")
    return act["zero"] < _of(cells, "CoDel")["zero"] and 4 <= act["mode_ms"] <= 8


def S0_F2_e(cells: pl.DataFrame) -> bool:
    """PIE: a larger mean and a larger standard deviation than CoDel-ACT."""
    pie, act = _of(cells, "PIE"), _of(cells, "CoDel-ACT")
    return pie["mean_ms"] > act["mean_ms"] and pie["std_ms"] > act["std_ms"]


@without_act
def S0_F2_f(cells: pl.DataFrame) -> bool:
    """More packets of CoDel than of PIE wait longer than 25 ms, although CoDel's mean is smaller."""
    codel, pie = _of(cells, "CoDel"), _of(cells, "PIE")
    return codel["above_25"] > pie["above_25"] and codel["mean_ms"] < pie["mean_ms"]


def _of(cells: pl.DataFrame, aqm: str) -> dict[str, float]:
    return cells.filter(pl.col("aqm") == aqm).row(0, named=True)


RELATIONS = relations_by_claim([S0_F2_b2, S0_F2_d, S0_F2_e, S0_F2_f])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a curve per AQM over the packets of all seeds."""
    found = distributions(result.results, [Name(aqm) for aqm, *_ in runs(result)])
    with style():
        figure = new_figure(6.0, 4.0)
        axes = figure.subplots()
        draw_distribution(found, axes, Channels(found), tail=False)
        axes.set_xlim(0, 60)
        axes.set_ylim(0, 1.01)
        axes.set_xlabel("queueing delay [ms]")
        axes.set_ylabel("share of packets")
        legend(figure)
        return figure
