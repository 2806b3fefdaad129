"""Figure 13: throughput over time while the rate of the link changes in steps, and the loss of Hard Limit CoDel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from sojourn.figures import marks
from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves, muted
from sojourn.papers.gao2015.analysis import CODEL, HARD_LIMIT, grid
from sojourn.papers.gao2015.dynamic import EMULATED, FIFO, RATES, STEP_S, STUDY, first_runs, runs
from sojourn.papers.gao2015.original import as_original, samples
from sojourn.papers.judge import Measurements, Verdict, relations_by_claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.papers.original import Original
    from sojourn.studies.study import StudyResult

__all__ = ["EMULATED", "RELATIONS", "STUDY", "TITLE", "draw", "measure", "original"]

TITLE = "Figure 13: throughput over time, link rate in steps"

RELATIONS = relations_by_claim([])


def measure(result: StudyResult) -> Measurements:
    """Bytes that the forward link sends in every run."""
    rows = [(scheme, one.seed, int(one.links["bytes"][0])) for scheme, one in runs(result)]
    cells = pl.DataFrame(rows, schema=["scheme", "seed", "bytes"], orient="row")
    return _measured(cells)


def original() -> Original:
    """Bytes in the authors' samples, ten a second."""
    cells = samples().group_by("scheme", "seed").agg(bytes=100 * pl.col("rate_kBps").sum())
    return as_original(_measured(cells))


def _measured(cells: pl.DataFrame) -> Measurements:
    total = grid(cells, "bytes", "scheme", "seed")
    lost = [1 - total[HARD_LIMIT, seed] / total[CODEL, seed] for seed in cells["seed"].unique(maintain_order=True)]
    return Measurements({"S1-F13-loss": lost}, cells, ("scheme",), RELATIONS)


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw the throughput of every second, of the first seed, and the rate of the link."""
    shown = {scheme: one for scheme, one in first_runs(result).items() if scheme in (CODEL, HARD_LIMIT, FIFO)}
    with style():
        figure = new_figure(8.0, 4.4)
        axes = figure.subplots()
        edges = [step * STEP_S for step in range(len(RATES) + 1)]
        marks.steps(axes, edges, RATES, "link rate", color=muted())
        for (scheme, one), curve in zip(shown.items(), curves(len(shown)), strict=True):
            steps = one.utilisation.filter(pl.col("link") == "forward")
            marks.line(axes, steps["time_s"], 8e-6 * steps["bytes"], scheme, **curve)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_ylim(0.1, 200)
        axes.set_xlim(0, STEP_S * len(RATES))
        axes.set_xlabel("time [s]   (means of each second)")
        axes.set_ylabel("throughput [Mbit/s]")
        legend(axes.figure)
        return figure
