"""Figure 10: as many uploads as downloads, round-trip times and goodput of the uploads.

The paper's RTTs are those of captures (tcpdump, SPP), so those are judged.

"Almost constant" means that the maximum median of the three loads is less than 1.3 times the minimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.khademi2013.analysis import LIGHT, MODERATE, THREE, means, select
from sojourn.papers.khademi2013.boxes import box_figure
from sojourn.papers.khademi2013.wlan import KEYS, cells_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Figure 10: uploads beside downloads over 802.11g"
STUDY = "fig10.toml"


def measure(result: StudyResult) -> Measurements:
    """Median RTTs of the uploads; under light load the mean of all three AQMs."""
    cells = cells_of(result)
    light = [select(cells, aqm=aqm, flows=LIGHT).sort("seed")["t50"].to_list() for aqm in THREE]
    moderate = {aqm: select(cells, aqm=aqm, flows=MODERATE)["t50"].to_list() for aqm in THREE}
    samples = {
        "S3-F10-light": [sum(same) / len(same) for same in zip(*light, strict=True)],
        "S3-F10-CoDel-mod": moderate["CoDel"],
        "S3-F10-ARED-mod": moderate["ARED"],
    }
    return Measurements(samples, cells, KEYS, RELATIONS)


def S3_F10_PIE(cells: pl.DataFrame) -> bool:
    """PIE's median RTT is almost the same at every load, those of CoDel and ARED grow from load to load."""
    medians = {aqm: means(cells, "t50", "flows", aqm=aqm) for aqm in THREE}
    grow = all(less < more for aqm in ("CoDel", "ARED") for less, more in pairwise(medians[aqm]))
    return grow and max(medians["PIE"]) < 1.3 * min(medians["PIE"])


RELATIONS = relations_by_claim([S3_F10_PIE])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw the RTT as a capture in the station sees it, the RTT from TCP on, and the goodput: boxes by load."""
    return box_figure(cells_of(result), ("t", "r", "g"), x="flows", x_label="flows each way", group="aqm")
