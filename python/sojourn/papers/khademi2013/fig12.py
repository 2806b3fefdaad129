"""Figure 12: delays of one flow's packets over time under CoDel and FQ_CoDel, at a target of 5 ms.

The paper draws samples and does not define its jitter. Here it is the mean absolute difference between the delays of
successive packets of the flow (RFC 3393's delay variation). The flow is the first of each run.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from sojourn.figures import marks
from sojourn.figures.canvas import new_figure, style
from sojourn.figures.channels import curves
from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.khademi2013.analysis import AQMS, LOADS, PACKET_MS, means

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.model.results.result import Result
    from sojourn.studies.study import StudyResult

TITLE = "Figure 12: packets of one flow under CoDel and FQ_CoDel"
STUDY = "fig12.toml"

KEYS = ("aqm", "flows")
TWO = ("CoDel", "FQ_CoDel")


def measure(result: StudyResult) -> Measurements:
    """Mean delay and jitter of the first flow."""
    rows = []
    for aqm, flows, one in _runs(result):
        delays = sample_flow(one)["delay_ms"]
        rows.append({"aqm": aqm, "flows": flows, "seed": one.seed, "mean": delays.mean(), "jitter": jitter(delays)})
    return Measurements({}, pl.DataFrame(rows), KEYS, RELATIONS)


def sample_flow(one: Result) -> pl.DataFrame:
    """`time_s` and `delay_ms` of the packets of the first flow, in sending order."""
    sent = (
        (pl.col("link") == "forward") & (pl.col("flow") == 0) & pl.col("fate").cast(pl.String).str.starts_with("sent")
    )
    waited = pl.when(pl.col("sojourn_ms") > 0).then(2 * PACKET_MS).otherwise(PACKET_MS)
    return one.packets.filter(sent).select("time_s", delay_ms=pl.col("sojourn_ms") + waited)


def jitter(delays: pl.Series) -> float:
    """Mean absolute difference between successive delays."""
    return float(delays.diff().abs().mean())  # type: ignore[arg-type]


def _runs(result: StudyResult) -> list[tuple[str, int, Result]]:
    return [
        (AQMS[values["link.aqm"].split()[0]], int(values["flows.0.count"]), one) for values, one in result.with_values()
    ]


def S3_F12(cells: pl.DataFrame) -> bool:
    """FQ_CoDel's mean delay is lower, its jitter larger than CoDel's, and both differences grow with the load."""
    return all(
        differences[0] > 0 and all(less < more for less, more in pairwise(differences))
        for differences in (_over(cells, "mean", "CoDel", "FQ_CoDel"), _over(cells, "jitter", "FQ_CoDel", "CoDel"))
    )


def _over(cells: pl.DataFrame, column: str, more: str, less: str) -> list[float]:
    """Difference of `column` between two AQMs, load by load."""
    both = (means(cells, column, "flows", aqm=aqm) for aqm in (more, less))
    return [high - low for high, low in zip(*both, strict=True)]


RELATIONS = relations_by_claim([S3_F12])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a column per load, a row per AQM: the packets of the first seed's flow over time."""
    shown: dict[tuple[str, int], Result] = {}
    for aqm, flows, one in _runs(result):
        shown.setdefault((aqm, flows), one)
    with style():
        figure = new_figure(10.0, 5.4)
        panels = figure.subplots(len(TWO), len(LOADS), sharex=True, sharey="col")
        for row, (aqm, curve) in enumerate(zip(TWO, curves(2), strict=True)):
            for axes, flows in zip(panels[row], LOADS, strict=True):
                trace = sample_flow(shown[aqm, flows])
                look = {"marker": ".", "linestyle": "none", "ms": 2, "color": curve["color"], "rasterized": True}
                marks.line(axes, trace["time_s"], trace["delay_ms"], **look)
                axes.set_title(f"{aqm}, {flows} flows", loc="left", fontweight="bold")
                axes.set_xlim(0, 60)
            panels[row][0].set_ylabel("queueing delay [ms]")
        for axes in panels[-1]:
            axes.set_xlabel("time [s]")
            axes.set_ylim(bottom=0)  # shared; set when both panels have their data
        return figure
