"""Figure 4: CoDel's and CoDel-ACT's count and PIE's drop probability over time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sojourn.figures import marks
from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.model.analysis.stats import line_fit
from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.schwarzkopf2016.analysis import (
    AQMS,
    DENSE,
    LOADS,
    cells_of,
    column,
    first_runs,
    runs,
    state,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.model.results.result import Result
    from sojourn.studies.study import StudyResult

TITLE = "Figure 4: count and p over time"
STUDY = "evolution.toml"

VARIABLE = {"CoDel": "count", "CoDel-ACT": "count", "PIE": "p"}
PER_BIN = 20
"""Samples of 100 ms in a bin of 2 s, which averages out oscillations."""


def measure(result: StudyResult) -> Measurements:
    """Level, growth and settling of the state variable of every run."""
    cells = cells_of(
        [{"aqm": aqm, "flows": flows, "seed": seed, **_row(aqm, one)} for aqm, flows, seed, one in runs(result)]
    )

    def samples_of(aqm: str, flows: int, name: str) -> list[float]:
        chosen = cells.filter((pl.col("aqm") == aqm) & (pl.col("flows") == flows))
        return [float(value) for value in chosen[name]]

    samples = {f"S0-F4-CoDel-{flows}-count50": samples_of("CoDel", flows, "at_50") for flows in LOADS[1:]}
    samples |= {f"S0-F4-ACT-{flows}-count": samples_of("CoDel-ACT", flows, "level") for flows in LOADS[1:]}
    samples["S0-F4-CoDel-1-count"] = samples_of("CoDel", 1, "highest")
    return Measurements(samples, cells, ("aqm", "flows"), RELATIONS)


def _row(aqm: str, one: Result) -> dict[str, Any]:
    table = state(one)
    times, values = table["time_s"].to_numpy(), table[VARIABLE[aqm]].to_numpy()
    late, steady = times >= 10, times >= 20
    slope, _ = line_fit(times[steady], values[steady])
    return {
        "at_50": values[np.abs(times - 50) <= 0.5].mean(),
        "level": values[steady].mean(),
        "highest": values[late].max(),
        "fit": line_fit(times[late], values[late])[1],
        "trend": abs(10 * slope) / values[steady].mean(),
        "early_peak": values[times < 10].max(),
        "settled_s": settled(times, values),
    }


def settled(times: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> float:
    """Time when the variable, averaged over 2 s, first is within 20 % of its mean over the last fifth of the run."""
    bins = len(values) // PER_BIN
    means = values[: bins * PER_BIN].reshape(bins, PER_BIN).mean(axis=1)
    level = values[-len(values) // 5 :].mean()
    near = np.abs(means - level) <= 0.2 * level
    return float(times[int(near.argmax()) * PER_BIN]) if near.any() else float("inf")


def S0_F4_lin(cells: pl.DataFrame) -> bool:
    """CoDel: with 4, 16 and 64 flows count follows a line from 10 s on (R² > 0.98)."""
    return all(fit > 0.98 for fit in column(cells, "CoDel", "fit", LOADS[1:]))


def S0_F4_ACT_bound(cells: pl.DataFrame) -> bool:
    """CoDel-ACT: from 20 s on count changes by less than 2 % of its mean per 10 s."""
    return all(trend < 0.02 for trend in column(cells, "CoDel-ACT", "trend", LOADS[1:]))


def S0_F4_PIE(cells: pl.DataFrame) -> bool:
    """PIE: p is almost 0 with one flow; otherwise it overshoots, then stays at a level that grows with the load.

    It settles before CoDel's count does.
    """
    levels, peaks = column(cells, "PIE", "level"), column(cells, "PIE", "early_peak")
    small = levels[0] < 0.01
    overshoots = all(peak > 1.2 * level for peak, level in zip(peaks[1:], levels[1:], strict=True))
    grows = all(less < more for less, more in pairwise(levels))
    pie, codel = (column(cells, aqm, "settled_s", LOADS[1:]) for aqm in ("PIE", "CoDel"))
    return small and overshoots and grows and all(p < c for p, c in zip(pie, codel, strict=True))


RELATIONS = relations_by_claim([S0_F4_lin, S0_F4_ACT_bound, S0_F4_PIE])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a panel per AQM with a line per load, of the first seed."""
    shown = first_runs(result)
    with style():
        figure = new_figure(10.0, 3.6)
        panels = figure.subplots(1, 3)
        for axes, aqm in zip(panels, AQMS.values(), strict=True):
            for flows, curve in zip(LOADS, curves(len(LOADS)), strict=True):
                table = state(shown[aqm, flows])
                label = "1 flow" if flows == 1 else f"{flows} flows"
                marks.line(axes, table["time_s"], table[VARIABLE[aqm]], label, color=curve["color"], **DENSE)
            axes.set_title(aqm, loc="left", fontweight="bold")
            axes.set_ylabel("count" if aqm != "PIE" else "drop probability p")
            axes.set_xlabel("time [s]")
            axes.set_ylim(bottom=0)
            axes.set_xlim(0, 100)
        legend(figure)
        return figure
