"""Jain's index of the goodputs, CoDel and RED, over the rate for three numbers of FTPs.

CoDel is "consistently better" if its mean index over all rates and numbers is higher, and it is nowhere lower by more
than a hundredth, the reading precision of a figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from sojourn.figures.canvas import new_figure, style
from sojourn.figures.channels import curves
from sojourn.papers.cells import draw_line
from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.nichols2012 import schemes
from sojourn.papers.nichols2012.schemes import CODEL, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Jain's fairness index over the rate"
STUDY = "fairness.toml"

LOADS = (4, 16, 64)
RATES = (3, 10, 45)
READING = 0.01


def measure(result: StudyResult) -> Measurements:
    """Jain's index of every run."""
    return Measurements({}, _cells(result), ("scheme", "ftps", "rate_mbit"), RELATIONS)


def _cells(result: StudyResult) -> pl.DataFrame:
    return schemes.cells_of(result, pl.col("flows.0.count").alias("ftps"), pl.col("jain"))


def S5_JAIN(cells: pl.DataFrame) -> bool:
    """CoDel shares the link more evenly than RED."""
    means = cells.group_by("scheme", "ftps", "rate_mbit").agg(pl.col("jain").mean()).sort("ftps", "rate_mbit")
    codel, red = (means.filter(pl.col("scheme") == scheme)["jain"] for scheme in (CODEL, RED))
    ahead = codel - red
    return bool(ahead.sum() > 0 and (ahead >= -READING).all())


RELATIONS = relations_by_claim([S5_JAIN])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a panel per number of FTPs, a curve per queue manager."""
    cells = _cells(result)
    with style():
        figure = new_figure(9.0, 3.4)
        panels = figure.subplots(1, len(LOADS), sharex=True, sharey=True)
        for axes, load in zip(panels, LOADS, strict=True):
            for scheme, curve, marker in zip((CODEL, RED), curves(2), "os", strict=True):
                own = cells.filter((pl.col("scheme") == scheme) & (pl.col("ftps") == load))
                draw_line(axes, own, "rate_mbit", "jain", marker=marker, label=scheme, **curve)
            axes.set_title(f"{load} FTPs", loc="left", fontweight="bold")
            axes.set_xlabel("rate [Mbit/s]")
        panels[0].set_xscale("log")
        panels[0].set_xticks(RATES, [f"{rate}" for rate in RATES])
        panels[0].set_xticks([], minor=True)
        panels[0].set_ylim(top=1.005)
        panels[0].set_ylabel("Jain's fairness index")
        panels[-1].legend(loc="best")
        return figure
