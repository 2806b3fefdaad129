"""Figure 14: goodput of ECN-capable flows and of others, at a target of 5 ms.

The paper does not define undershoot. Here a light load undershoots when its goodput is more than 3 % below that of 64
flows: in figure 4, without ECN, light loads are up to 2.7 % below, and the paper calls that close.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from sojourn.papers.judge import Measurements, Verdict, regardless_of, relations_by_claim
from sojourn.papers.khademi2013.analysis import means
from sojourn.papers.khademi2013.fig13 import KEYS, draw_ecn, ecn_cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Figure 14: goodput with and without ECN"
STUDY = "ecn.toml"

UNDERSHOOT = 0.03


def measure(result: StudyResult) -> Measurements:
    """Goodputs of every run."""
    return Measurements({}, ecn_cells(result), KEYS, RELATIONS)


@regardless_of("exclude_ce")
def S3_F14(cells: pl.DataFrame) -> bool:
    """With ECN, ARED's median goodput falls with the load to an undershoot at 4 flows; CoDel and PIE have none."""
    ared = means(cells, "g50", "flows", aqm="ARED", ecn=True)
    falls = all(less < more for less, more in pairwise(ared))
    return falls and _undershoot(cells, "ARED") and not any(_undershoot(cells, aqm) for aqm in ("CoDel", "PIE"))


def _undershoot(cells: pl.DataFrame, aqm: str) -> bool:
    goodputs = means(cells, "g50", "flows", aqm=aqm, ecn=True)
    return goodputs[0] < (1 - UNDERSHOOT) * goodputs[-1]


RELATIONS = relations_by_claim([S3_F14])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a panel per AQM: boxes without and with ECN by flows per sender."""
    return draw_ecn(result, "g")
