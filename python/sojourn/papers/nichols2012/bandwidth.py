"""Median delay and utilisation over the rate, CoDel and RED, for three mixes of traffic.

High rates are 45 and 100 Mbit/s, the low one is 3 Mbit/s. Delays are similar if neither median is more than twice the
other. Both relations are about every mix.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

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

TITLE = "Median delay and utilisation over the rate"
STUDY = "bandwidth.toml"

MIXES = ("4 FTPs", "4 FTPs, web", "4 FTPs, web, CBR")
RATES = (3, 10, 45, 100)
LOW_RATE, HIGH_RATES = 3, (45, 100)
SIMILAR = 2.0


def measure(result: StudyResult) -> Measurements:
    """Median delay and utilisation of every run."""
    return Measurements({}, _cells(result), ("scheme", "mix", "rate_mbit"), RELATIONS)


def _cells(result: StudyResult) -> pl.DataFrame:
    begins = [(pl.col(f"flows.{group}.start") == "0 s").cast(pl.Int64) for group in (1, 2)]
    mix = pl.sum_horizontal(begins).replace_strict(dict(enumerate(MIXES))).alias("mix")
    return schemes.cells_of(result, mix, pl.col("utilisation"), pl.col("sojourn_p50_ms").alias("median_ms"))


def _by_point(cells: pl.DataFrame, value: str) -> dict[tuple[Any, ...], float]:
    means = cells.group_by("scheme", "mix", "rate_mbit").agg(pl.col(value).mean())
    return {row[:-1]: row[-1] for row in means.iter_rows()}


def S5_UTIL(cells: pl.DataFrame) -> bool:
    """At high rates CoDel's utilisation is at least RED's."""
    use = _by_point(cells, "utilisation")
    return all(use[CODEL, mix, rate] >= use[RED, mix, rate] for mix, rate in product(MIXES, HIGH_RATES))


def S5_DELAY(cells: pl.DataFrame) -> bool:
    """At the low rate the median delays are similar."""
    delay = _by_point(cells, "median_ms")
    pairs = [sorted(delay[scheme, mix, LOW_RATE] for scheme in (CODEL, RED)) for mix in MIXES]
    return all(more <= SIMILAR * less for less, more in pairs)


RELATIONS = relations_by_claim([S5_UTIL, S5_DELAY])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw delay above utilisation, a column per mix, a curve per queue manager."""
    cells = _cells(result)
    with style():
        figure = new_figure(9.0, 5.4)
        panels = figure.subplots(2, len(MIXES), sharex=True, sharey="row")
        for column, mix in enumerate(MIXES):
            for scheme, curve, marker in zip((CODEL, RED), curves(2), "os", strict=True):
                own = cells.filter((pl.col("scheme") == scheme) & (pl.col("mix") == mix))
                for row, value in enumerate(("median_ms", "utilisation")):
                    draw_line(panels[row][column], own, "rate_mbit", value, marker=marker, label=scheme, **curve)
            panels[0][column].set_title(mix, loc="left", fontweight="bold")
            panels[1][column].set_xlabel("rate [Mbit/s]")
        panels[0][0].set_xscale("log")
        panels[0][0].set_xticks(RATES, [f"{rate}" for rate in RATES])
        panels[0][0].set_xticks([], minor=True)
        panels[0][0].set_ylim(bottom=0)
        panels[0][0].set_ylabel("median queueing delay [ms]")
        panels[1][0].set_ylim(0.6, 1.01)
        panels[1][0].set_ylabel("utilisation")
        panels[0][-1].legend(loc="best")
        return figure
