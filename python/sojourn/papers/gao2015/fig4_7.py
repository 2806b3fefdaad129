"""Figures 4 to 7: the mean delay over the number of FTPs, for each rate and scheme.

A statement about points of the grid is judged at every point, without an allowance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING

import polars as pl

from sojourn.figures import marks
from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.papers.cells import draw_line
from sojourn.papers.gao2015.analysis import (
    CODEL,
    FIFO,
    HARD_LIMIT,
    LOADS,
    RATES,
    RTT_MS,
    SCHEMES,
    cells_of,
    grid,
    plain_log,
    plural,
)
from sojourn.papers.gao2015.original import as_original, ftps
from sojourn.papers.judge import Check, Measurements, Verdict, all_checks, relations_by_claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.papers.original import Original
    from sojourn.studies.study import StudyResult

TITLE = "Figures 4 to 7: mean delay over the number of FTPs"
STUDY = "fig4_7.toml"

HIGH_MS = 50
LOW_RATE, HIGH_RATE = RATES[0], RATES[-1]


def measure(result: StudyResult) -> Measurements:
    """Mean delay of every run."""
    return _measured(cells_of(result))


def original() -> Original:
    """Mean delay of the authors' runs."""
    return as_original(_measured(ftps((RTT_MS,), LOADS)))


def _measured(cells: pl.DataFrame) -> Measurements:
    return Measurements({}, cells, ("scheme", "rate", "flows"), RELATIONS)


@all_checks
def S1_F4_7_order(cells: pl.DataFrame) -> Iterator[Check]:
    """Hard Limit CoDel has no more delay than CoDel."""
    delay = grid(cells, "mean_ms", "scheme", "rate", "flows")
    for rate, load in product(RATES, LOADS):
        own, codel = delay[HARD_LIMIT, rate, load], delay[CODEL, rate, load]
        yield Check(own <= codel, f"{rate} Mbit/s, {plural(load, 'FTP')}: {own:.4g} ms, CoDel {codel:.4g}")


@all_checks
def S1_F4_50(cells: pl.DataFrame) -> Iterator[Check]:
    """CoDel is above 50 ms at the lowest rate with the highest load, but not there with one flow nor at other rates."""
    delay = grid(cells.filter(pl.col("scheme") == CODEL), "mean_ms", "rate", "flows")
    for (rate, load), ms in delay.items():
        high = ms > HIGH_MS
        if rate != LOW_RATE or load in (1, LOADS[-1]):
            yield Check(high == (rate == LOW_RATE and load > 1), f"{rate} Mbit/s, {plural(load, 'FTP')}: {ms:.4g} ms")


@all_checks
def S1_F7_fifo(cells: pl.DataFrame) -> Iterator[Check]:
    """At the highest rate FIFO has the largest delay, with every load."""
    delay = grid(cells.filter(pl.col("rate") == HIGH_RATE), "mean_ms", "scheme", "flows")
    for load in LOADS:
        own, others = delay[FIFO, load], max(delay[CODEL, load], delay[HARD_LIMIT, load])
        yield Check(own > others, f"{plural(load, 'FTP')}: FIFO {own:.4g} ms, the others up to {others:.4g}")


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
