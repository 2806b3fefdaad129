"""Figures 7 and 8: queueing delay and goodput with base RTTs of 5, 100 and 500 ms.

"Most" means more than half of the nine pairs of an AQM and a load; delay is "significantly" lower when it is below 0.8
times the others'; goodput is "almost the same" within 1 %, a loss of it "little" up to 5 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.khademi2013.analysis import EQUAL, LIGHT, LOADS, MODERATE, THREE, cells_of, means, value
from sojourn.papers.khademi2013.boxes import box_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Figures 7 and 8: base RTTs of 5, 100 and 500 ms"
STUDY = "rtts.toml"

KEYS = ("aqm", "rtt_ms", "flows")
SIGNIFICANT = 0.8
LITTLE = 0.05


def measure(result: StudyResult) -> Measurements:
    """Delays and goodputs of every run."""
    return Measurements({}, cells_of(result, KEYS), KEYS, RELATIONS)


def S3_F7(cells: pl.DataFrame) -> bool:
    """Delay and goodput fall as the base RTT grows, each for most AQMs and loads."""
    pairs = [(aqm, flows) for aqm in THREE for flows in LOADS]
    falling = {
        column: sum(
            all(more > less for more, less in pairwise(means(cells, column, "rtt_ms", aqm=aqm, flows=flows)))
            for aqm, flows in pairs
        )
        for column in ("p50", "g50")
    }
    return all(count > len(pairs) / 2 for count in falling.values())


def S3_F7_ARED5(cells: pl.DataFrame) -> bool:
    """At 5 ms, ARED's delay is significantly lower than CoDel's and PIE's at the same goodput, for all loads."""
    return all(_delay_ratio(cells, 5.0, flows) < SIGNIFICANT and _loss(cells, 5.0, flows) <= EQUAL for flows in LOADS)


def S3_F7_ARED(cells: pl.DataFrame) -> bool:
    """At 100 and 500 ms ARED's delay is the lowest; it costs little goodput (light at 100, moderate at 500 ms)."""
    lowest = all(_delay_ratio(cells, rtt_ms, flows) < 1 for rtt_ms in (100.0, 500.0) for flows in LOADS)
    return lowest and _loss(cells, 100.0, LIGHT) <= LITTLE and _loss(cells, 500.0, MODERATE) <= LITTLE


def _delay_ratio(cells: pl.DataFrame, rtt_ms: float, flows: int) -> float:
    """ARED's median delay over the lower one of CoDel and PIE."""
    codel, pie, ared = (value(cells, "p50", aqm=aqm, rtt_ms=rtt_ms, flows=flows) for aqm in THREE)
    return ared / min(codel, pie)


def _loss(cells: pl.DataFrame, rtt_ms: float, flows: int) -> float:
    """Goodput loss of ARED relative to the better one of CoDel and PIE."""
    codel, pie, ared = (value(cells, "g50", aqm=aqm, rtt_ms=rtt_ms, flows=flows) for aqm in THREE)
    return 1 - ared / max(codel, pie)


RELATIONS = relations_by_claim([S3_F7, S3_F7_ARED5, S3_F7_ARED])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw delay above goodput, a panel per load: boxes by base RTT."""
    look = {"x": "rtt_ms", "x_label": "base RTT [ms]", "group": "aqm", "panel": "flows", "panel_label": "{} flows"}
    return box_figure(cells_of(result, KEYS), ("p", "g"), **look)
