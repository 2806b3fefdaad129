"""Figure 2 and the text of section 4: queueing delay and goodput of a single flow, by target.

"Clearly lower" goodput of ARED means lower by more than 1 %: the paper calls smaller differences the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.khademi2013.analysis import EQUAL, TARGETS_MS, THREE, cells_of, extreme, means
from sojourn.papers.khademi2013.boxes import box_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Figure 2: queueing delay and goodput of a single flow"
STUDY = "fig2.toml"

KEYS = ("aqm", "target_ms")


def measure(result: StudyResult) -> Measurements:
    """Goodput over the whole run at the targets with the minimum and maximum; delays for the relations."""
    cells = cells_of(result, KEYS)
    samples = {
        f"S3-1flow-{aqm}-{end}": extreme(
            cells.filter(pl.col("aqm") == aqm), "total", ["target_ms"], highest=end == "max"
        )
        for aqm in THREE
        for end in ("min", "max")
    }
    return Measurements(samples, cells, KEYS, RELATIONS)


def S3_F2a_1(cells: pl.DataFrame) -> bool:
    """The median delay is at most the target, above 1 ms, for all three."""
    above = cells.filter(pl.col("target_ms") > 1)
    return bool((above["p50"] <= above["target_ms"]).all())


def S3_F2a_2(cells: pl.DataFrame) -> bool:
    """Above 1 ms, maximum and spread of the delay are larger under CoDel and PIE than under ARED, at every target."""
    above = cells.filter(pl.col("target_ms") > 1)
    return all(
        more > less
        for column in ("max", "spread")
        for aqm in ("CoDel", "PIE")
        for more, less in zip(
            means(above, column, "target_ms", aqm=aqm), means(above, column, "target_ms", aqm="ARED"), strict=True
        )
    )


def S3_F2b(cells: pl.DataFrame) -> bool:
    """CoDel's median goodput is the highest at every target; ARED's is clearly lower than both up to 10 ms."""
    codel, pie, ared = (means(cells, "g50", "target_ms", aqm=aqm) for aqm in THREE)
    highest = all(c >= max(p, a) for c, p, a in zip(codel, pie, ared, strict=True))
    low = [place for place, target_ms in enumerate(TARGETS_MS) if target_ms <= 10]
    return highest and all(ared[place] < (1 - EQUAL) * min(codel[place], pie[place]) for place in low)


RELATIONS = relations_by_claim([S3_F2a_1, S3_F2a_2, S3_F2b])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw delay and goodput side by side, boxes by target."""
    return box_figure(cells_of(result, KEYS), ("p", "g"), x="target_ms", x_label="target [ms]", group="aqm")
