"""Figure 5: CoDel with intervals of 5, 30 and 100 ms.

The text says "a smaller interval than the default": its range of delay reductions is taken over both smaller ones and
all loads, its loss of goodput as the larger of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.papers.judge import Measurements, Relation, Verdict
from sojourn.papers.khademi2013.analysis import LIGHT, cells_of, extreme, reductions, select
from sojourn.papers.khademi2013.boxes import box_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Figure 5: CoDel's interval"
STUDY = "fig5.toml"
RELATIONS: dict[str, Relation] = {}

KEYS = ("interval_ms", "flows")


def measure(result: StudyResult) -> Measurements:
    """Reductions of delay and goodput against 100 ms."""
    cells = cells_of(result, KEYS)
    less = reductions(cells, ("p50", "g50"), "interval_ms", 100.0)
    samples = {
        "S3-F5-lat-min": extreme(less, "p50", KEYS, highest=False),
        "S3-F5-lat-max": extreme(less, "p50", KEYS, highest=True),
        "S3-F5-gp": extreme(select(less, flows=LIGHT), "g50", KEYS, highest=True),
    }
    return Measurements(samples, cells, KEYS, RELATIONS)


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw delay and goodput side by side, boxes by load."""
    label = "interval {} ms"
    cells = cells_of(result, KEYS)
    return box_figure(cells, ("p", "g"), x="flows", x_label="flows", group="interval_ms", group_label=label)
