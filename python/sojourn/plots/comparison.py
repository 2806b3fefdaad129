"""The figure of a comparison: sojourn time over time per queue manager, and its distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.plots.canvas import new_figure, style
from sojourn.plots.capacity import capacity, rate_varies
from sojourn.plots.cdf import sojourn_cdf
from sojourn.plots.distribution import distributions
from sojourn.plots.timeseries import draw_panels, forward_packets, time_label
from sojourn.units import seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.result import Result


def comparison(aqms: Sequence[str], results: Sequence[Result]) -> Figure:
    """Draw results ordered by AQM and seed; time series show the first seed, distributions add up all seeds."""
    per_aqm = len(results) // len(aqms)
    firsts = list(results)[::per_aqm]
    labels = [aqm for aqm in aqms for _ in range(per_aqm)]
    with style():
        if "packets" not in firsts[0].table_names:  # too many to keep each of them
            figure = new_figure()
            sojourn_cdf(distributions(results, labels), figure.subplots())
            return figure
        varies = rate_varies(firsts[0].scenario)
        rows = len(aqms) + varies
        figure = new_figure(10.0, 1.0 + 1.25 * rows)
        grid = figure.add_gridspec(rows, 2, width_ratios=(2.2, 1.0))
        panels: list[Axes] = []
        for row in range(rows):
            share = {"sharex": panels[0]} if panels else {}
            both = {**share, "sharey": panels[0]} if panels and row < len(aqms) else share
            panels.append(figure.add_subplot(grid[row, 0], **both))
        draw_panels([forward_packets(result) for result in firsts], aqms, panels[: len(aqms)])
        if varies:
            capacity(firsts[0].scenario, panels[-1])
        for axes in panels[:-1]:
            axes.tick_params(labelbottom=False)
        panels[-1].set_xlabel(time_label(firsts))
        panels[0].set_xlim(0, seconds(firsts[0].scenario.document["duration"]))
        sojourn_cdf(distributions(results, labels), figure.add_subplot(grid[:, 1]))
        return figure
