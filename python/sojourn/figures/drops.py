"""Smoothed drop rate over time: a time-exponentially weighted moving average."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.base.errors import InputError
from sojourn.figures import marks, scales
from sojourn.figures.channels import Channels, facets, thin
from sojourn.figures.scales import plain
from sojourn.figures.warmup import shade_warmups
from sojourn.figures.window import check_span
from sojourn.model.analysis.labels import Name, first_of_each
from sojourn.model.analysis.packets import MEMORY_S, drop_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result


def draw(
    results: Sequence[Result],
    names: Sequence[Name],
    sheet: Sheet,
    memory_s: float = MEMORY_S,
    from_s: float = 0.0,
    to_s: float | None = None,
) -> None:
    """Fill `sheet` with the drop rate of each name's first seed; many names are split into a panel for each load."""
    if not memory_s > 0:
        raise InputError('--memory: is zero; write e.g. "0.5 s"')
    shown = first_of_each(results, names)
    duration = max(result.duration_s for result in shown.values())
    end = duration if to_s is None else to_s
    check_span(from_s, end, duration)
    groups = facets(shown, MANY_CURVES)
    panels = sheet.panels(len(groups), height=1.6 if len(groups) > 1 else 2.4)[:, 0]
    channels = Channels(called for group in groups.values() for called in group.values())
    for (load, group), axes in zip(groups.items(), panels, strict=True):
        for name, called in group.items():
            look = {**channels.line(called), "linewidth": thin(0.8)}
            draw_rate(shown[name], from_s, end, memory_s, axes, name=str(called), **look)
        if load:
            scales.title(axes, load)
        axes.set_ylabel("drops per s")
    sheet.legend(channels.legend())
    for axes in panels:
        axes.set_ylim(bottom=0)
        axes.set_xlim(from_s, end)
    panels[-1].set_xlabel("time [s]")
    shade_warmups(panels, [[shown[name] for name in group] for group in groups.values()], sheet)
    sheet.note(f"drop rate: TEWMA with a memory of {plain(memory_s)} s")


def draw_rate(
    result: Result, start_s: float, end_s: float, memory_s: float, axes: Axes, *, name: str = "", **look: Any
) -> None:
    """Draw the smoothed drop rate of a run in drops per second over time in s, at most to the end of the run."""
    at_s = np.linspace(start_s, min(end_s, result.duration_s), SAMPLES)
    marks.line(axes, at_s, drop_rate(result, at_s, memory_s), name, **look)


MANY_CURVES = 4
"""Maximum number of curves in one panel; more are split into a panel for each load."""
SAMPLES = 1001
"""Number of points of a curve."""
