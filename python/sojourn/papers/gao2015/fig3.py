"""Figure 3: the maximum delay of CoDel under different levels of congestion.

"Increases linearly" is judged up to the limit of 1000 packets: a run whose maximum reaches 95 % of the time that the
link needs for them is capped. Below that, the delay has to grow with every step of the load, and where three or more
loads are left, a straight line over the number of flows has to explain nine tenths of the variance (R² > 0.9).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sojourn.analysis.stats import line_fit
from sojourn.figures import marks
from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.papers.cells import by_seed, draw_line
from sojourn.papers.gao2015.analysis import LOADS, RATES, cells_of, grid, mean_of, plain_log
from sojourn.papers.judge import Measured, Verdict, relations_by_claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Figure 3: maximum delay of CoDel over the number of FTPs"
STUDY = "fig3.toml"

LIMIT_PACKETS = 1000
PACKET_BITS = 12_000
CAPPED = 0.95
STRAIGHT = 0.9


def cap_ms(rate: int) -> float:
    """Time that a link of `rate` Mbit/s needs for the packets of a full queue."""
    return LIMIT_PACKETS * PACKET_BITS / rate / 1000


def measure(result: StudyResult) -> Measured:
    """Maximum delay of every run."""
    cells = cells_of(result)
    few = pl.col("flows").is_in([2, 4]) & (pl.col("rate") <= 16)
    samples = {"S1-F3-200": [mean_of(one.filter(few), "max_ms") for one in by_seed(cells)]}
    return Measured(samples, cells.drop("scheme"), ("rate", "flows"), RELATIONS)


def S1_F3_lin(cells: pl.DataFrame) -> bool:
    """At every rate the maximum grows linearly with the number of flows until the queue is full."""
    return all(_grows(cells, rate) for rate in RATES)


def _grows(cells: pl.DataFrame, rate: int) -> bool:
    found = grid(cells.filter(pl.col("rate") == rate), "max_ms", "flows")
    delays = [found[(flows,)] for flows in LOADS]
    full = [delay >= CAPPED * cap_ms(rate) for delay in delays]
    free = full.index(True) if any(full) else len(full)
    grows = all(less < more for less, more in pairwise(delays[: free + 1])) and all(full[free:])
    if free < 3:
        return grows
    return grows and line_fit(np.array(LOADS[:free], float), np.array(delays[:free]))[1] > STRAIGHT


RELATIONS = relations_by_claim([S1_F3_lin])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a curve per rate, and what a full queue would give."""
    cells = cells_of(result)
    with style():
        figure = new_figure(6.4, 4.4)
        axes = figure.subplots()
        for rate, curve, marker in zip(RATES, curves(len(RATES)), "os^v", strict=True):
            own = cells.filter(pl.col("rate") == rate)
            draw_line(axes, own, "flows", "max_ms", label=f"{rate} Mbit/s", marker=marker, **curve)
            marks.reference(axes, cap_ms(rate), "full queue", color=curve["color"])
        plain_log(axes, "x", LOADS)
        plain_log(axes, "y", (50, 100, 200, 500, 1000, 2000, 5000, 10000))
        axes.set_xlabel("FTPs   (dotted: queue of 1000 packets full)")
        axes.set_ylabel("maximum delay [ms]")
        legend(axes.figure)
        return figure
