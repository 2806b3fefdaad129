"""Smoothed drop rate over time: a time-exponentially weighted moving average."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import InputError
from sojourn.labels import by_aqm, first_of_each
from sojourn.packets import MEMORY_S, drop_rate
from sojourn.plots.canvas import named_curves, shared_legend
from sojourn.plots.window import check_span

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.result import Result


def draw(
    results: Sequence[Result],
    labels: Sequence[str],
    figure: Figure,
    memory_s: float = MEMORY_S,
    from_s: float = 0.0,
    to_s: float | None = None,
) -> None:
    """Fill `figure` with the drop rate of each label's first seed; of many labels, in a panel per queue manager."""
    if not memory_s > 0:
        raise InputError('--memory: is zero; write e.g. "0.5 s"')
    shown = first_of_each(results, labels)
    duration = max(result.duration_s for result in shown.values())
    end = duration if to_s is None else to_s
    check_span(from_s, end, duration)
    aqms = [label if result.is_log else result.scenario.aqm for label, result in shown.items()]
    groups = by_aqm(list(shown), aqms, MANY_CURVES)
    figure.set_size_inches(7.0, 1.4 + (1.5 if len(groups) > 1 else 2.2) * len(groups))
    panels = figure.subplots(len(groups), 1, sharex=True, sharey=True, squeeze=False)[:, 0].tolist()
    styles = named_curves(name for names in groups.values() for name in names.values())
    for (title, names), axes in zip(groups.items(), panels, strict=True):
        for label, name in names.items():
            draw_rate(shown[label], from_s, end, memory_s, axes, label=name, **{**styles[name], "linewidth": 1.0})
        axes.set_title(title, loc="left", fontweight="bold", pad=3)
        axes.set_ylabel("drops per s")
    shared_legend(figure, panels)
    panels[0].set_ylim(bottom=0)
    panels[-1].set_xlim(from_s, end)
    panels[-1].set_xlabel(f"time [s]   (drop rate: TEWMA with a memory of {memory_s:g} s)")


def draw_rate(result: Result, start_s: float, end_s: float, memory_s: float, axes: Axes, **options: Any) -> None:
    """Draw the smoothed drop rate of a run in drops per second over time in s, at most to the end of the run."""
    at_s = np.linspace(start_s, min(end_s, result.duration_s), SAMPLES)
    axes.plot(at_s, drop_rate(result, at_s, memory_s), **options)


MANY_CURVES = 4
"""More curves than this are drawn apart, by queue manager."""
SAMPLES = 1001
"""Instants at which the rate is drawn."""
