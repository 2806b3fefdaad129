"""Figure 11: queueing delay under CoDel and FQ_CoDel at targets of 5 and 20 ms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.papers.judge import Measurements, Relation, Verdict
from sojourn.papers.khademi2013.analysis import cells_of, extreme, reductions, select
from sojourn.papers.khademi2013.boxes import box_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Figure 11: CoDel and FQ_CoDel"
STUDY = "fig11.toml"
RELATIONS: dict[str, Relation] = {}

KEYS = ("aqm", "target_ms", "flows")


def measure(result: StudyResult) -> Measurements:
    """Reductions of CoDel's quantiles by FQ_CoDel: minimum and maximum over the loads."""
    cells = cells_of(result, KEYS)
    less = reductions(cells, ("p10", "p50", "p90"), "aqm", "CoDel")
    at_5 = select(less, target_ms=5.0)
    samples = {
        f"S3-F11-{column}-{end}": extreme(at_5, column, ["flows"], highest=end == "max")
        for column in ("p10", "p50")
        for end in ("min", "max")
    }
    for target_ms in (5, 20):
        worst = extreme(select(less, target_ms=float(target_ms)), "p90", ["flows"], highest=False)
        samples[f"S3-F11-p90-{target_ms}"] = [-reduction for reduction in worst]
    return Measurements(samples, cells, KEYS, RELATIONS)


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a panel per target: boxes by load."""
    label = "target {} ms"
    cells = cells_of(result, KEYS)
    look = {"x": "flows", "x_label": "flows", "group": "aqm", "panel": "target_ms", "panel_label": label}
    return box_figure(cells, ("p",), **look)
