"""III.D.2 (no figure in the paper): mean queueing delay and utilisation over interval and t_update."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sojourn.model.analysis.stats import line_fit
from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.schwarzkopf2016.analysis import per_seed, without_act
from sojourn.papers.schwarzkopf2016.sweeps import LOADS, draw_sweep, over_loads, series, sweep_cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "III.D.2: mean delay and utilisation over the time scales"
STUDY = "timescales.toml"

T_UPDATE = 16.0


def measure(result: StudyResult) -> Measurements:
    """Samples for the numbers in the text, cells for all values."""
    cells = sweep_cells(result)

    def lowest(aqm: str, above: float, below: float = math.inf) -> list[float]:
        def of(cell: pl.DataFrame) -> float:
            values = [value for value in series(cell, aqm, 1, "utilisation")[0] if above <= value <= below]
            return min(min(over_loads(cell, aqm, value, "utilisation").values()) for value in values)

        return per_seed(cells, of, aqm)

    samples = {
        "S0-TS-2": per_seed(cells, _act_over_codel, "CoDel", "CoDel-ACT"),
        "S0-TS-3": per_seed(
            cells, lambda cell: float(np.mean(list(over_loads(cell, "PIE", T_UPDATE, "mean_ms").values()))), "PIE"
        ),
        "S0-TS-5": lowest("CoDel", 25, 25),
        "S0-TS-6": lowest("CoDel", 100, 100),
        "S0-TS-7": lowest("CoDel", 200, 200),
        "S0-TS-10": lowest("CoDel-ACT", 125),
        "S0-TS-11": lowest("PIE", T_UPDATE),
    }
    return Measurements(samples, cells, ("aqm", "value_ms", "flows"), RELATIONS)


def _act_over_codel(cells: pl.DataFrame) -> float:
    ratios = []
    for flows in LOADS[1:]:
        codel, act = (series(cells, aqm, flows, "mean_ms")[1] for aqm in ("CoDel", "CoDel-ACT"))
        ratios += [a / c for a, c in zip(act, codel, strict=True)]
    return float(np.mean(ratios))


def S0_TS_1(cells: pl.DataFrame) -> bool:
    """CoDel and CoDel-ACT: over intervals of 25 to 200 ms the mean delay grows along a line with R² > 0.9."""
    for aqm in ("CoDel", "CoDel-ACT"):
        for flows in LOADS:
            intervals, means = (np.array(one)[1:] for one in series(cells, aqm, flows, "mean_ms"))
            slope, fit = line_fit(intervals, means)
            if slope <= 0 or fit <= 0.9:
                return False
    return True


@without_act
def S0_TS_4(cells: pl.DataFrame) -> bool:
    """PIE: the mean delay is lower below t_update = 16 ms, and at 150 ms at most a quarter above."""
    for flows in LOADS:
        at = dict(zip(*series(cells, "PIE", flows, "mean_ms"), strict=True))
        lower = all(mean < at[T_UPDATE] for value, mean in at.items() if value < T_UPDATE)
        if not (lower and at[150.0] <= 1.25 * at[T_UPDATE]):
            return False
    return True


@without_act
def S0_TS_8(cells: pl.DataFrame) -> bool:
    """CoDel, intervals of 25, 100 and 200 ms: higher utilisation with 1 and 64 flows than with 4, 8 and 16."""
    for interval in (25.0, 100.0, 200.0):
        at = over_loads(cells, "CoDel", interval, "utilisation")
        if min(at[1], at[64]) <= max(at[4], at[8], at[16]):
            return False
    return True


def S0_TS_9(cells: pl.DataFrame) -> bool:
    """CoDel-ACT: utilisation does not fall with the interval; a single flow has the lowest."""
    rows = {flows: series(cells, "CoDel-ACT", flows, "utilisation")[1] for flows in LOADS}
    rises = all(later >= earlier - 0.0005 for row in rows.values() for earlier, later in pairwise(row))
    single = all(one <= min(rest) for one, *rest in zip(*rows.values(), strict=True))
    return rises and single


@without_act
def S0_TS_12(cells: pl.DataFrame) -> bool:
    """PIE: below t_update = 16 ms the utilisation is lower, and depends on the load."""
    smallest = over_loads(cells, "PIE", 2.0, "utilisation")
    default = over_loads(cells, "PIE", T_UPDATE, "utilisation")
    return min(smallest.values()) < min(default.values()) and max(smallest.values()) - min(smallest.values()) > 0.005


RELATIONS = relations_by_claim([S0_TS_1, S0_TS_4, S0_TS_8, S0_TS_9, S0_TS_12])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw delay and utilisation over the time scale."""
    parameters = {"CoDel": "interval", "CoDel-ACT": "interval", "PIE": "t_update"}
    return draw_sweep(sweep_cells(result), parameters, log=True)
