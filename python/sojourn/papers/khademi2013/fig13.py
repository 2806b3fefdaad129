"""Figure 13: queueing delay of ECN-capable flows and of others, at a target of 5 ms.

The paper does not define a "constantly backlogged" queue, nor "very narrow". Here it is backlogged when nine of ten
packets wait longer than the target, and narrow when the 10th and the 90th percentile differ by less than a tenth of the
median.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from sojourn.papers.judge import Measurements, Verdict, regardless_of, relations_by_claim
from sojourn.papers.khademi2013.analysis import HEAVY, SENDERS, THREE, cells_of, means, value
from sojourn.papers.khademi2013.boxes import box_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Figure 13: queueing delay with and without ECN"
STUDY = "ecn.toml"

KEYS = ("aqm", "ecn", "flows")
TARGET_MS = 5.0
NARROW = 0.1


def measure(result: StudyResult) -> Measurements:
    """Delays of every run."""
    return Measurements({}, ecn_cells(result), KEYS, RELATIONS)


def ecn_cells(result: StudyResult) -> pl.DataFrame:
    """Rows of the runs that the paper has."""
    return cells_of(result, (*KEYS, "variant")).filter(pl.col("variant") == "").drop("variant")


@regardless_of("exclude_ce")
def S3_F13(cells: pl.DataFrame) -> bool:
    """Medians are higher with ECN; ARED's rise grows with the load and is the largest with 16 and 32 flows.

    At 64 flows the queues of CoDel and PIE are constantly backlogged, with a narrow distribution.
    """
    rises = {aqm: _rises(cells, aqm) for aqm in THREE}
    up = all(rise > 0 for aqm in THREE for rise in rises[aqm])
    ared = rises["ARED"]
    most = all(ared[place] > rises[aqm][place] for place in (1, 2) for aqm in ("CoDel", "PIE"))
    growing = all(less < more for less, more in pairwise(ared))
    return up and most and growing and all(_backlogged_and_narrow(cells, aqm) for aqm in ("CoDel", "PIE"))


def _rises(cells: pl.DataFrame, aqm: str) -> list[float]:
    marked, dropped = (means(cells, "p50", "flows", aqm=aqm, ecn=ecn) for ecn in (True, False))
    return [more - less for more, less in zip(marked, dropped, strict=True)]


def _backlogged_and_narrow(cells: pl.DataFrame, aqm: str) -> bool:
    low, median, spread = (value(cells, name, aqm=aqm, ecn=True, flows=HEAVY) for name in ("p10", "p50", "spread"))
    return low > TARGET_MS and spread < NARROW * median


RELATIONS = relations_by_claim([S3_F13])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a panel per AQM: boxes without and with ECN by flows per sender."""
    return draw_ecn(result, "p")


def draw_ecn(result: StudyResult, quantity: str) -> Figure:
    """Draw a panel per AQM of the delay (`p`) or the goodput (`g`)."""
    named = ecn_cells(result).with_columns(
        ecn=pl.when("ecn").then(pl.lit("ECN")).otherwise(pl.lit("no ECN")), flows=pl.col("flows") // SENDERS
    )
    return box_figure(named, (quantity,), x="flows", x_label="flows per sender", group="ecn", panel="aqm")
