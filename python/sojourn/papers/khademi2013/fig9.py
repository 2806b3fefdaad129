"""Figure 9: downloads over the access point, round-trip times and goodput."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.khademi2013.analysis import LIGHT, LOADS, THREE, select, value
from sojourn.papers.khademi2013.boxes import box_figure
from sojourn.papers.khademi2013.wlan import KEYS, cells_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Figure 9: downloads over 802.11g"
STUDY = "fig9.toml"


def measure(result: StudyResult) -> Measurements:
    """Median goodput of every 5 s under light load."""
    cells = cells_of(result)
    light = {aqm: select(cells, aqm=aqm, flows=LIGHT)["g50"].to_list() for aqm in THREE}
    return Measurements({f"S3-F9-{aqm}": samples for aqm, samples in light.items()}, cells, KEYS, RELATIONS)


def S3_F9_lat(cells: pl.DataFrame) -> bool:
    """ARED has the lowest median RTT at every load."""
    medians = {aqm: [value(cells, "r50", aqm=aqm, flows=flows) for flows in LOADS] for aqm in THREE}
    others = zip(medians["CoDel"], medians["PIE"], strict=True)
    return all(own < min(pair) for own, pair in zip(medians["ARED"], others, strict=True))


RELATIONS = relations_by_claim([S3_F9_lat])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw RTT and goodput side by side, boxes by load."""
    return box_figure(cells_of(result), ("r", "g"), x="flows", x_label="flows", group="aqm")
