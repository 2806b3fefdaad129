"""Figure 3: mean queueing delay and utilisation over the delay threshold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from sojourn.figures import marks
from sojourn.figures.channels import muted
from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.schwarzkopf2016.analysis import AQMS, aqms_of, per_seed, without_act
from sojourn.papers.schwarzkopf2016.sweeps import LOADS, draw_sweep, over_loads, series, sweep_cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Figure 3: mean delay and utilisation over the delay threshold"
STUDY = "fig3.toml"

TARGET, QDELAY_REF = 5.0, 16.0


def measure(result: StudyResult) -> Measurements:
    """Samples at the default thresholds, cells for all."""
    cells = sweep_cells(result)

    def used(cell: pl.DataFrame, aqm: str, target_ms: float) -> dict[int, float]:
        return over_loads(cell, aqm, target_ms, "utilisation")

    samples = {
        "S0-F3a-5": per_seed(
            cells,
            lambda cell: (
                over_loads(cell, "CoDel", TARGET, "mean_ms")[16] / over_loads(cell, "PIE", QDELAY_REF, "mean_ms")[16]
            ),
            "CoDel",
            "PIE",
        ),
        "S0-F3b-1": per_seed(cells, lambda cell: min(used(cell, "CoDel", TARGET).values()), "CoDel"),
        "S0-F3b-2": per_seed(cells, lambda cell: max(used(cell, "CoDel", TARGET).values()), "CoDel"),
        "S0-F3b-5": per_seed(
            cells,
            lambda cell: min(used(cell, "CoDel-ACT", TARGET)[flows] for flows in LOADS if flows >= 4),
            "CoDel-ACT",
        ),
        "S0-F3b-6": per_seed(cells, lambda cell: min(used(cell, "PIE", QDELAY_REF).values()), "PIE"),
    }
    return Measurements(samples, cells, ("aqm", "value_ms", "flows"), RELATIONS)


def S0_F3a_1(cells: pl.DataFrame) -> bool:
    """The mean delay increases with the threshold, for every AQM and load."""
    rows = [series(cells, aqm, flows, "mean_ms")[1] for aqm in AQMS.values() for flows in LOADS]
    return all(less < more for row in rows for less, more in pairwise(row))


@without_act
def S0_F3a_2(cells: pl.DataFrame) -> bool:
    """CoDel: the mean delay grows with the load, and is above the target at most of the points."""
    targets = series(cells, "CoDel", 1, "mean_ms")[0]
    rows = {target: list(over_loads(cells, "CoDel", target, "mean_ms").values()) for target in targets}
    grows = all(less < more for row in rows.values() for less, more in pairwise(row))
    above = [mean > target for target, row in rows.items() for mean in row]
    return grows and sum(above) > len(above) / 2


def S0_F3a_3(cells: pl.DataFrame) -> bool:
    """At a threshold of 5 ms the spread of the mean delay over the loads is CoDel's > CoDel-ACT's > PIE's."""
    means = [over_loads(cells, aqm, TARGET, "mean_ms").values() for aqm in ("CoDel", "CoDel-ACT", "PIE")]
    codel, act, pie = (max(row) - min(row) for row in means)
    return codel > act > pie


@without_act
def S0_F3a_4(cells: pl.DataFrame) -> bool:
    """PIE: from a reference of 10 ms on the mean delay is within 10 % of it, for all loads."""
    pie = cells.filter((pl.col("aqm") == "PIE") & (pl.col("value_ms") >= 10))
    return bool(((pie["mean_ms"] / pie["value_ms"] - 1).abs() < 0.10).all())


def S0_F3a_6(cells: pl.DataFrame) -> bool:
    """64 flows: PIE with a reference of 5 ms has a smaller mean delay than CoDel and CoDel-ACT with that target."""
    codel, act, pie = (over_loads(cells, aqm, TARGET, "mean_ms")[64] for aqm in AQMS.values())
    return pie < codel and pie < act


@without_act
def S0_F3b_3(cells: pl.DataFrame) -> bool:
    """CoDel's utilisation at 5 ms is higher with 1 and with 64 flows than with 4, 8 and 16."""
    at = over_loads(cells, "CoDel", TARGET, "utilisation")
    return min(at[1], at[64]) > max(at[4], at[8], at[16])


def S0_F3b_4(cells: pl.DataFrame) -> bool:
    """CoDel-ACT's utilisation is at least CoDel's at the same target, for every load from 4 flows on."""
    for flows in LOADS[1:]:
        codel, act = (series(cells, aqm, flows, "utilisation")[1] for aqm in ("CoDel", "CoDel-ACT"))
        if not all(a >= c for a, c in zip(act, codel, strict=True)):
            return False
    return True


def S0_F3b_7(cells: pl.DataFrame) -> bool:
    """At the smallest threshold the utilisation of every AQM is below 100 % for some load, and lower than at 30 ms."""
    for aqm in AQMS.values():
        values = series(cells, aqm, 1, "utilisation")[0]
        smallest, largest = (min(over_loads(cells, aqm, at, "utilisation").values()) for at in (values[0], values[-1]))
        if not (smallest < 0.995 and smallest < largest):
            return False
    return True


RELATIONS = relations_by_claim(
    [S0_F3a_1, S0_F3a_2, S0_F3a_3, S0_F3a_4, S0_F3a_6, S0_F3b_3, S0_F3b_4, S0_F3b_7],
)


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw delay and utilisation; the dashed line is the threshold itself."""
    parameters = {"CoDel": "target", "CoDel-ACT": "target", "PIE": "qdelay_ref"}
    cells = sweep_cells(result)
    figure = draw_sweep(cells, parameters, log=False)
    for axes in figure.axes[: len(aqms_of(cells))]:
        marks.line(axes, [0, 30], [0, 30], linestyle="--", color=muted(), linewidth=0.8)
    return figure
