"""Figure 3: queueing delay under three loads, by target.

"In proportion to the target" means that ARED's median grows with it from target to target, and that a straight line
fits with R² > 0.9; CoDel's spread is "roughly equal" if its maximum is below 1.3 times its minimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.khademi2013.analysis import HEAVY, LOADS, MODERATE, TARGETS_MS, cells_of, means
from sojourn.papers.khademi2013.boxes import box_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Figure 3: queueing delay with 4, 16 and 64 flows"
STUDY = "targets.toml"

KEYS = ("aqm", "target_ms", "flows")
CROWDED = (MODERATE, HEAVY)


def measure(result: StudyResult) -> Measurements:
    """Delays of every run."""
    return Measurements({}, cells_of(result, KEYS), KEYS, RELATIONS)


def S3_F3_1(cells: pl.DataFrame) -> bool:
    """CoDel and PIE: 10th percentile, median and 90th percentile grow with the load at every target."""
    return all(
        less < more
        for aqm in ("CoDel", "PIE")
        for target_ms in TARGETS_MS
        for column in ("p10", "p50", "p90")
        for less, more in pairwise(means(cells, column, "flows", aqm=aqm, target_ms=target_ms))
    )


def S3_F3_2(cells: pl.DataFrame) -> bool:
    """With 16 and 64 flows ARED's median is the closest to every target, and in proportion to it."""
    return all(_closest(cells, flows) and _proportional(cells, flows) for flows in CROWDED)


def _closest(cells: pl.DataFrame, flows: int) -> bool:
    codel, pie, ared = (_misses(cells, aqm, flows) for aqm in ("CoDel", "PIE", "ARED"))
    return all(own < min(others) for own, *others in zip(ared, codel, pie, strict=True))


def _misses(cells: pl.DataFrame, aqm: str, flows: int) -> list[float]:
    medians = means(cells, "p50", "target_ms", aqm=aqm, flows=flows)
    return [abs(median - target_ms) for median, target_ms in zip(medians, TARGETS_MS, strict=True)]


def _proportional(cells: pl.DataFrame, flows: int) -> bool:
    medians = means(cells, "p50", "target_ms", aqm="ARED", flows=flows)
    grows = all(less < more for less, more in pairwise(medians))
    return grows and float(np.corrcoef(TARGETS_MS, medians)[0, 1]) ** 2 > 0.9


def S3_F3_3(cells: pl.DataFrame) -> bool:
    """With 16 and 64 flows ARED's spread is the smallest at every target."""
    return all(
        own < min(others)
        for flows in CROWDED
        for own, *others in zip(
            *(means(cells, "spread", "target_ms", aqm=aqm, flows=flows) for aqm in ("ARED", "CoDel", "PIE")),
            strict=True,
        )
    )


def S3_F3_4(cells: pl.DataFrame) -> bool:
    """CoDel's spread is roughly the same for every target of a load; PIE's grows as the target falls at 64 flows."""
    spreads = [means(cells, "spread", "target_ms", aqm="CoDel", flows=flows) for flows in LOADS]
    pie = means(cells, "spread", "target_ms", aqm="PIE", flows=HEAVY)
    return all(max(row) < 1.3 * min(row) for row in spreads) and all(more > less for more, less in pairwise(pie))


RELATIONS = relations_by_claim([S3_F3_1, S3_F3_2, S3_F3_3, S3_F3_4])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a panel per load: boxes of the delay by target."""
    return draw_targets(result, "p")


def draw_targets(result: StudyResult, quantity: str) -> Figure:
    """Draw a panel per load of the delay (`p`) or the goodput (`g`)."""
    cells = cells_of(result, KEYS)
    look = {"x": "target_ms", "x_label": "target [ms]", "group": "aqm", "panel": "flows", "panel_label": "{} flows"}
    return box_figure(cells, (quantity,), **look)
