"""Figures 8 to 11: the utilisation over the round-trip time with 1 and with 8 FTPs, for each rate.

A figure is read to about a per cent: "decreases" and "increases" allow for as much against the trend from one point to
the next, but not from end to end. "Significantly lower" is by more than a tenth; like the corner that the paper names
(500 ms, 64 Mbit/s, 1 FTP) are its neighbours, from 300 ms and 16 Mbit/s on.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.papers.cells import by_seed, draw_line
from sojourn.papers.gao2015 import analysis
from sojourn.papers.gao2015.analysis import (
    CODEL,
    HARD_LIMIT,
    RATES,
    ROUND_TRIPS_MS,
    grid,
    plain_log,
    plural,
    round_trip_ms,
)
from sojourn.papers.judge import Measured, Verdict, relations_by_claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Figures 8 to 11: utilisation over the round-trip time"
STUDY = "fig8_11.toml"

LOADS = (1, 8)
RTTS = tuple(ROUND_TRIPS_MS.values())
CORNER = (64, 500, 1)
READING = 0.01
SIGNIFICANT = 0.1


def measure(result: StudyResult) -> Measured:
    """Utilisation of every run, and the throughput at the corner that the paper names."""
    cells = _cells(result)
    corner = [_corner(one) for one in by_seed(cells)]
    samples = {
        "S1-U-HL": [hard_limit for _, hard_limit in corner],
        "S1-U-ratio": [1 - hard_limit / codel for codel, hard_limit in corner],
    }
    return Measured(samples, cells, ("scheme", "rate", "rtt_ms", "flows"), RELATIONS)


def _cells(result: StudyResult) -> pl.DataFrame:
    return analysis.cells_of(result, lambda run: {"rtt_ms": round_trip_ms(run["link.delay"])})


def _corner(cells: pl.DataFrame) -> tuple[float, float]:
    """Throughput of CoDel and of Hard Limit CoDel in Mbit/s."""
    codel, hard_limit = _of(cells, CODEL), _of(cells, HARD_LIMIT)
    return CORNER[0] * codel[CORNER], CORNER[0] * hard_limit[CORNER]


def _of(cells: pl.DataFrame, scheme: str) -> dict[tuple[Any, ...], float]:
    """Utilisation by rate, round-trip time and load."""
    return grid(cells.filter(pl.col("scheme") == scheme), "utilisation", "rate", "rtt_ms", "flows")


def S1_F8_11_a(cells: pl.DataFrame) -> bool:
    """The utilisation falls with the round-trip time and grows with the number of flows, under both schemes."""
    for use, rate in product((_of(cells, CODEL), _of(cells, HARD_LIMIT)), RATES):
        few, many = ([use[rate, rtt, load] for rtt in RTTS] for load in LOADS)
        if not all(line[0] > line[-1] and all(b <= a + READING for a, b in pairwise(line)) for line in (few, many)):
            return False
        if not (sum(many) > sum(few) and all(b >= a - READING for a, b in zip(few, many, strict=True))):
            return False
    return True


def S1_F8_11_b(cells: pl.DataFrame) -> bool:
    """Hard Limit CoDel is significantly lower at the corner and nowhere but near it."""
    codel, hard_limit = _of(cells, CODEL), _of(cells, HARD_LIMIT)
    lower = {point for point, use in codel.items() if hard_limit[point] < (1 - SIGNIFICANT) * use}
    return CORNER in lower and all(rate >= 16 and rtt >= 300 and load == 1 for rate, rtt, load in lower)


RELATIONS = relations_by_claim([S1_F8_11_a, S1_F8_11_b])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a panel per scheme and load with a curve per rate, as the paper's four figures."""
    cells = _cells(result)
    with style():
        figure = new_figure(9.0, 6.0)
        panels = figure.subplots(2, 2, sharex=True, sharey=True)
        for axes, (load, scheme) in zip(panels.flat, product(LOADS, (CODEL, HARD_LIMIT)), strict=True):
            for rate, curve, marker in zip(RATES, curves(len(RATES)), "os^v", strict=True):
                chosen = (pl.col("scheme") == scheme) & (pl.col("rate") == rate) & (pl.col("flows") == load)
                own = cells.filter(chosen)
                draw_line(axes, own, "rtt_ms", "utilisation", scale=100, label=f"{rate} Mbit/s", marker=marker, **curve)
            axes.set_title(f"{scheme}, {plural(load, 'FTP')}", loc="left", fontweight="bold")
        plain_log(panels[0][0], "x", (10, 20, 40, 100, 200, 500))
        panels[0][0].set_ylim(0, 103)
        for row in panels:
            row[0].set_ylabel("utilisation [%]")
        for axes in panels[1]:
            axes.set_xlabel("round-trip time [ms]")
        legend(figure)
        return figure
