"""Figure 3: the maximum delay of CoDel under different levels of congestion.

"Increases linearly" is judged up to the limit of 1000 packets: a run is capped if its maximum reaches 95 % of the time
that the link needs for them. Below that, the delay must grow with every step of the load, and with three or more loads
left, a straight line over the number of flows must explain nine tenths of the variance (R² > 0.9).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sojourn.figures import marks
from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.model.analysis.stats import line_fit
from sojourn.papers.cells import by_seed, draw_line
from sojourn.papers.gao2015.analysis import CODEL, LOADS, RATES, RTT_MS, cells_of, grid, mean_of, plain_log
from sojourn.papers.gao2015.original import as_original, ftps
from sojourn.papers.judge import Check, Measurements, Verdict, all_checks, relations_by_claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.papers.original import Original
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


def measure(result: StudyResult) -> Measurements:
    """Maximum delay of every run."""
    return _measured(cells_of(result))


def original() -> Original:
    """Maximum delay of the authors' runs."""
    return as_original(_measured(ftps((RTT_MS,), LOADS, (CODEL,))))


def _measured(cells: pl.DataFrame) -> Measurements:
    few = pl.col("flows").is_in([2, 4]) & (pl.col("rate") <= 16)
    samples = {"S1-F3-200": [mean_of(one.filter(few), "max_ms") for one in by_seed(cells)]}
    return Measurements(samples, cells.drop("scheme"), ("rate", "flows"), RELATIONS)


@all_checks
def S1_F3_lin(cells: pl.DataFrame) -> Iterator[Check]:
    """At every rate the maximum grows linearly with the number of flows until the queue is full."""
    return (_grows(cells, rate) for rate in RATES)


def _grows(cells: pl.DataFrame, rate: int) -> Check:
    found = grid(cells.filter(pl.col("rate") == rate), "max_ms", "flows")
    delays = [found[(flows,)] for flows in LOADS]
    full = [delay >= CAPPED * cap_ms(rate) for delay in delays]
    free = full.index(True) if any(full) else len(full)
    grows = all(less < more for less, more in pairwise(delays[: free + 1])) and all(full[free:])
    series = f"{rate} Mbit/s: {', '.join(f'{delay:.4g}' for delay in delays)} ms"
    if free < 3:
        return Check(grows, series)
    straight = line_fit(np.array(LOADS[:free], float), np.array(delays[:free]))[1]
    return Check(grows and straight > STRAIGHT, f"{series}, R² {straight:.3f}")


RELATIONS = relations_by_claim([S1_F3_lin])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a curve per rate, and the delay of a full queue."""
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
