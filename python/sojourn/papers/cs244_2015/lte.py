"""The same load over a cellular link: delay and bytes delivered.

The recorded Verizon trace is not shipped; the link follows a synthetic one with the same statistics. "Almost all times"
means 95 % of the seconds; a delay is still spiky if its maximum over the seconds is at least five times the median.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sojourn.figures import marks
from sojourn.figures.canvas import new_figure, style
from sojourn.figures.channels import curves
from sojourn.papers.cells import by_seed
from sojourn.papers.cs244_2015.analysis import NAMES, SECONDS, both_queues, per_second, second_cells, thin
from sojourn.papers.judge import Measurements, Verdict, relations_by_claim

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "4G: delay and bytes over an LTE-like trace"
STUDY = "lte.toml"


def measure(result: StudyResult) -> Measurements:
    """Every second of every run, and the excess of tail drop's delivered bytes."""
    cells = second_cells(result)
    queues = [both_queues(cell) for cell in by_seed(cells)]
    more = [tail["out_mbit"].sum() / codel["out_mbit"].sum() - 1 for tail, codel in queues]
    return Measurements({"S4-4G": more}, cells, ("aqm", "second"), RELATIONS)


def S4_4G_DELAY(cells: pl.DataFrame) -> bool:
    """CoDel's delay is below tail drop's in almost all seconds in which both send, and still spiky."""
    tail, codel = (queue["delay_ms"] for queue in both_queues(cells))
    sent = ~(np.isnan(tail) | np.isnan(codel))
    below = codel[sent] < tail[sent]
    return bool(below.mean() >= 0.95 and np.nanmax(codel) >= 5 * np.nanmedian(codel))


RELATIONS = relations_by_claim([S4_4G_DELAY])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw delay and bytes over time, of the first seed."""
    count = len(result.study.seeds)
    with style():
        figure = new_figure(10.0, 3.8)
        delay, total = figure.subplots(1, 2)
        for place, (name, curve) in enumerate(zip(NAMES.values(), curves(2), strict=True)):
            table = per_second(result.results[place * count])
            marks.line(delay, table["second"] + 0.5, table["delay_ms"], name, **thin(curve))
            marks.line(total, table["second"] + 1, table["out_mbit"].cum_sum() / 8, name, **curve)
        delay.set_yscale("log")
        delay.set_ylabel("mean queueing delay [ms]")
        total.set_ylabel("delivered [MB]")
        for axes in (delay, total):
            axes.set_xlabel("time [s]")
            axes.set_xlim(0, SECONDS)
        total.legend(loc="best")
        return figure
