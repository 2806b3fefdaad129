"""Figures 4 to 7: the mean delay over the number of FTPs, for each rate and scheme.

A statement about points of the grid is judged at every point, without an allowance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from sojourn.figures import marks
from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.papers.cells import draw_line
from sojourn.papers.gao2015.analysis import CODEL, FIFO, HARD_LIMIT, LOADS, RATES, SCHEMES, cells_of, grid, plain_log
from sojourn.papers.judge import Measured, Verdict, relations_by_claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Figures 4 to 7: mean delay over the number of FTPs"
STUDY = "fig4_7.toml"

HIGH_MS = 50
LOW_RATE, HIGH_RATE = RATES[0], RATES[-1]


def measure(result: StudyResult) -> Measured:
    """Mean delay of every run."""
    return Measured({}, cells_of(result), ("scheme", "rate", "flows"), RELATIONS)


def S1_F4_7_order(cells: pl.DataFrame) -> bool:
    """Hard Limit CoDel has no more delay than CoDel."""
    delay = grid(cells, "mean_ms", "scheme", "rate", "flows")
    return all(delay[HARD_LIMIT, rate, load] <= delay[CODEL, rate, load] for rate in RATES for load in LOADS)


def S1_F4_50(cells: pl.DataFrame) -> bool:
    """CoDel is above 50 ms at the lowest rate with the highest load, neither there with one flow nor at other rates."""
    delay = grid(cells.filter(pl.col("scheme") == CODEL), "mean_ms", "rate", "flows")
    above = {point for point, ms in delay.items() if ms > HIGH_MS}
    return (LOW_RATE, LOADS[-1]) in above and (LOW_RATE, 1) not in above and {rate for rate, _ in above} == {LOW_RATE}


def S1_F7_fifo(cells: pl.DataFrame) -> bool:
    """At the highest rate FIFO has the most delay, with every load."""
    delay = grid(cells.filter(pl.col("rate") == HIGH_RATE), "mean_ms", "scheme", "flows")
    return all(delay[FIFO, load] > max(delay[CODEL, load], delay[HARD_LIMIT, load]) for load in LOADS)


RELATIONS = relations_by_claim([S1_F4_7_order, S1_F4_50, S1_F7_fifo])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a panel per rate with a curve per scheme."""
    cells = cells_of(result)
    with style():
        figure = new_figure(9.0, 6.0)
        panels = figure.subplots(2, 2, sharex=True)
        for axes, rate in zip(panels.flat, RATES, strict=True):
            for scheme, curve, marker in zip(SCHEMES.values(), curves(len(SCHEMES)), "os^", strict=True):
                own = cells.filter((pl.col("scheme") == scheme) & (pl.col("rate") == rate))
                draw_line(axes, own, "flows", "mean_ms", label=scheme, marker=marker, **curve)
            marks.reference(axes, HIGH_MS, "limit")
            axes.set_title(f"{rate} Mbit/s", loc="left", fontweight="bold")
            axes.set_ylim(bottom=0)
        plain_log(panels[1][0], "x", LOADS)
        for row in panels:
            row[0].set_ylabel("mean delay [ms]")
        for axes in panels[1]:
            axes.set_xlabel("FTPs   (dotted: 50 ms)")
        legend(figure)
        return figure
