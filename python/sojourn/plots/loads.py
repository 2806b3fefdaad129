"""The figure of a comparison at several loads: distributions of the sojourn time, a panel for each load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.plots.canvas import Span, new_figure, shared_legend, sojourn_axis, style
from sojourn.plots.cdf import sojourn_cdf
from sojourn.plots.distribution import distributions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.result import Result

COLUMNS = 3
"""Most panels side by side."""


def comparison_of_loads(aqms: Sequence[str], loads: Sequence[str], results: Sequence[Result]) -> Figure:
    """Draw results ordered by load, AQM and seed: an AQM has the same line in every panel, and all share their axes."""
    per_load = len(results) // len(loads)
    labels = [aqm for aqm in aqms for _ in range(per_load // len(aqms))]
    columns = 2 if len(loads) == 4 else min(COLUMNS, len(loads))
    rows = -(-len(loads) // columns)
    with style():
        figure = new_figure(1.0 + 2.7 * columns, 1.0 + 2.3 * rows)
        panels = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
        spans: list[Span] = []
        for place, (load, axes) in enumerate(zip(loads, panels, strict=False)):
            spans += sojourn_cdf(distributions(results[place * per_load : (place + 1) * per_load], labels), axes)
            axes.set_title(load, loc="left", fontweight="bold", pad=3)
            if legend := axes.get_legend():
                legend.remove()
            if place % columns:
                axes.set_ylabel("")
                axes.tick_params(labelleft=False)
            if place + columns < len(loads):
                axes.set_xlabel("")
        for axes in panels[len(loads) :]:
            axes.remove()
        for axes in panels[: len(loads)]:
            sojourn_axis(axes, spans)
        shared_legend(figure, panels[: len(loads)])
        return figure
