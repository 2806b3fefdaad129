"""Figure 5: drop rates over time, smoothed by the TEWMA with a memory of 500 ms.

The paper does not define a stationary drop rate. Here it is stationary when, averaged over 2 s, it first reaches 95 %
of its mean over the second half of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sojourn.figures import marks
from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.model.analysis.packets import drop_rate
from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.schwarzkopf2016.analysis import AQMS, DENSE, LOADS, cells_of, column, first_runs, runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.model.results.result import Result
    from sojourn.studies.study import StudyResult

TITLE = "Figure 5: drop rates over time"
STUDY = "evolution.toml"

STEP_S = 0.1
TIMES = np.arange(STEP_S, 100 + STEP_S / 2, STEP_S)
SPAN = round(2 / STEP_S)
"""Samples in 2 s."""


def measure(result: StudyResult) -> Measurements:
    """Stationary rate, its standard deviation, and when it is reached."""
    cells = cells_of(
        [{"aqm": aqm, "flows": flows, "seed": seed, **_row(one)} for aqm, flows, seed, one in runs(result)]
    )
    ids = {"S0-F5-CoDel-64": "CoDel", "S0-F5-ACT-64": "CoDel-ACT", "S0-F5-PIE-64": "PIE"}
    many = cells.filter(pl.col("flows") == 64)
    samples = {name: many.filter(pl.col("aqm") == aqm)["stationary_s"].to_list() for name, aqm in ids.items()}
    return Measurements(samples, cells, ("aqm", "flows"), RELATIONS)


def _row(one: Result) -> dict[str, Any]:
    rate = drop_rate(one, TIMES)
    steady = rate[len(rate) // 2 :]
    smooth = np.convolve(rate, np.ones(SPAN) / SPAN, mode="valid")
    return {
        "rate": steady.mean(),
        "deviation": steady.std(),
        "stationary_s": float(TIMES[int((smooth >= 0.95 * steady.mean()).argmax())]),
    }


def S0_F5_order(cells: pl.DataFrame) -> bool:
    """The stationary drop rate is PIE's < CoDel-ACT's < CoDel's with 4, 16 and 64 flows."""
    rows = zip(*(column(cells, aqm, "rate", LOADS[1:]) for aqm in ("PIE", "CoDel-ACT", "CoDel")), strict=True)
    return all(pie < act < codel for pie, act, codel in rows)


def S0_F5_amp(cells: pl.DataFrame) -> bool:
    """The smoothed drop rate of CoDel varies more than that of CoDel-ACT and that of PIE."""
    rows = zip(*(column(cells, aqm, "deviation", LOADS[1:]) for aqm in AQMS.values()), strict=True)
    return all(codel > act and codel > pie for codel, act, pie in rows)


RELATIONS = relations_by_claim([S0_F5_order, S0_F5_amp])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a panel per AQM with a line per load, of the first seed."""
    shown = first_runs(result)
    with style():
        figure = new_figure(10.0, 3.6)
        panels = figure.subplots(1, 3, sharey=True)
        for axes, aqm in zip(panels, AQMS.values(), strict=True):
            for flows, curve in zip(LOADS, curves(len(LOADS)), strict=True):
                label = "1 flow" if flows == 1 else f"{flows} flows"
                marks.line(axes, TIMES, drop_rate(shown[aqm, flows], TIMES), label, color=curve["color"], **DENSE)
            axes.set_title(aqm, loc="left", fontweight="bold")
            axes.set_xlabel("time [s]")
            axes.set_xlim(0, 100)
        panels[0].set_ylim(bottom=0)
        panels[0].set_ylabel("drop rate [1/s], TEWMA of 0.5 s")
        legend(figure)
        return figure
