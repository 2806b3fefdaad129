"""Matrices of two-flow fairness: a page per queue manager, a panel per rate and pair of round-trip times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from typing import Any

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from sojourn.base.units import bits_per_second
from sojourn.figures.canvas import Sheet, style
from sojourn.figures.heatmap import CellLook, draw_cells
from sojourn.figures.scales import title
from sojourn.model.analysis.stats import mean_ci
from sojourn.model.results.result import Result
from sojourn.studies.score.numbers import ratio

CONTROLS = ("flows.0.cc", "flows.1.cc")
RTTS = ("flows.0.rtt", "flows.1.rtt")
RATE = "link.rate"
MAX_LOG2 = 5.0
"""Factors beyond 2^5 have the colour of 2^5."""

Runs = Sequence[tuple[Mapping[str, Any], Result]]
"""Each run with the values of its point."""


def matrix(runs: Runs, name: str) -> Figure:
    """Goodput ratios under a queue manager: `ratio` in each cell, its logarithm as the colour."""
    at: dict[tuple[str, ...], list[float]] = {}
    for values, result in runs:
        key = (values[RATE], *(values[one] for one in RTTS), *(values[one] for one in CONTROLS))
        found = ratio(result)
        at.setdefault(key, []).extend([] if found is None else [found])
    rates = sorted({key[0] for key in at}, key=bits_per_second)
    pairs = list(dict.fromkeys(key[1:3] for key in at))
    rows, columns = (list(dict.fromkeys(key[place] for key in at)) for place in (3, 4))
    with style():
        sheet = Sheet()
        panels = sheet.panels(
            len(pairs), len(rates), height=0.42 + 0.19 * len(rows), text=True, sharex=True, sharey=True
        )
        for (row, column), axes in np.ndenumerate(panels):
            rate, pair = rates[column], pairs[row]
            grid = np.array([[_mean(at.get((rate, *pair, up, across), [])) for across in columns] for up in rows])
            drawn = draw_cells(grid, columns, rows, axes, "log2 of the ratio", LOOK)
            title(axes, f"{rate}, {pair[0].removesuffix(' ms')}/{pair[1]}")
        for axes in sheet.bottom:
            axes.set_xlabel("control of the second")
            axes.tick_params(axis="x", labelrotation=90)
        for axes in sheet.left:
            axes.set_ylabel("of the first")
        bar = sheet.figure.colorbar(drawn, ax=panels.ravel().tolist(), label="goodput of the first over the second")
        bar.set_ticks(steps := [-5, -3, -1, 0, 1, 3, 5], labels=[f"{2.0**step:.3g}" for step in steps])
        bar.ax.minorticks_off()
        sheet.note(f"{name}; panels: rate, round-trip times of the first and second; –: one of them got nothing")
        sheet.finish()
    return sheet.figure


def _mean(values: Sequence[float]) -> float:
    """Mean logarithm over the seeds, which weighs a ratio and its inverse equally; NaN without values."""
    return mean_ci([log2(value) for value in values])[0] if values else np.nan


def _short(value: float) -> str:
    """A factor in at most three characters, to fit a cell."""
    if value < 0.01:
        return "<.01"
    if value < 0.995:
        return f"{value:.2f}".removeprefix("0")
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


# PuOr: two hues that everyone can distinguish, lighter means fairer, so that grey print shows the unfairness.
LOOK = CellLook(
    Normalize(-MAX_LOG2, MAX_LOG2),
    lambda value: _short(2.0**value),
    lambda value: abs(value) > 0.65 * MAX_LOG2,
    colors="PuOr",
    size=0.75,
)
