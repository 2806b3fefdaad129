"""Figure 6: PIE with a t_update of 5, 30 and 100 ms, at a target of 5 ms.

The trend is checked from step to step with 4 flows, from end to end with 16, and not at all with 64, where the paper
finds it "less predictable".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.khademi2013.analysis import LIGHT, MODERATE, cells_of, means, reductions, select
from sojourn.papers.khademi2013.boxes import box_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Figure 6: PIE's t_update"
STUDY = "fig6.toml"

KEYS = ("interval_ms", "flows")


def measure(result: StudyResult) -> Measurements:
    """Reductions of delay and goodput with 5 ms against 30 ms."""
    cells = cells_of(result, KEYS)
    less = select(reductions(cells, ("p50", "g50"), "interval_ms", 30.0), flows=LIGHT, interval_ms=5.0)
    samples = {"S3-F6-lat": less["p50"].to_list(), "S3-F6-gp": less["g50"].to_list()}
    return Measurements(samples, cells, KEYS, RELATIONS)


def S3_F6_trend(cells: pl.DataFrame) -> bool:
    """A finer t_update gives less delay, a coarser one more goodput."""
    light, moderate = (
        [means(cells, column, "interval_ms", flows=flows) for column in ("p50", "g50")] for flows in (LIGHT, MODERATE)
    )
    steps = all(less < more for row in light for less, more in pairwise(row))
    return steps and all(row[0] < row[-1] for row in moderate)


RELATIONS = relations_by_claim([S3_F6_trend])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw delay and goodput side by side, boxes by load."""
    label = "t_update {} ms"
    cells = cells_of(result, KEYS)
    return box_figure(cells, ("p", "g"), x="flows", x_label="flows", group="interval_ms", group_label=label)
