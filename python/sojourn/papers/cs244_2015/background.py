"""The text's account of the ACM Queue simulations: CoDel's utilisation is "consistently" around 0.9 or more.

Consistently is taken as: the minimum utilisation over the rates. Their rates are not stated; ours are 1 to 100 Mbit/s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from sojourn.figures import marks
from sojourn.figures.canvas import new_figure, style
from sojourn.papers.cells import draw_line
from sojourn.papers.judge import Measurements, Relation, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Background: CoDel's utilisation over the rate, after Nichols and Jacobson"
STUDY = "background.toml"
RELATIONS: dict[str, Relation] = {}


def measure(result: StudyResult) -> Measurements:
    """Compute the minimum utilisation over the rates."""
    cells = _cells(result)
    least = cells.group_by("seed", maintain_order=True).agg(pl.col("utilisation").min())
    return Measurements({"S4-ACM-util": least["utilisation"].to_list()}, cells, ("rate_mbit",), RELATIONS)


def _cells(result: StudyResult) -> pl.DataFrame:
    rate = pl.col("link.rate").str.split(" ").list.first().cast(pl.Float64)
    return result.runs.select(rate.alias("rate_mbit"), "seed", "utilisation", "sojourn_p50_ms")


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw utilisation and median delay over the rate."""
    cells = _cells(result)
    with style():
        figure = new_figure(8.0, 3.6)
        panels = figure.subplots(1, 2)
        for axes, name in zip(panels, ("utilisation", "sojourn_p50_ms"), strict=True):
            draw_line(axes, cells, "rate_mbit", name, marker="o")
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_xlabel("rate [Mbit/s]")
        marks.reference(panels[0], 0.9, "limit")
        panels[0].set_ylim(0.8, 1.0)
        panels[0].set_ylabel("utilisation")
        panels[1].set_ylim(bottom=0)
        panels[1].set_ylabel("median queueing delay [ms]")
        return figure
