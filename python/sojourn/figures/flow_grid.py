"""Figures of flows over time: a column of panels per run, a row per quantity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D

from sojourn.figures.warmup import shade_warmups

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.artist import Artist
    from numpy.typing import NDArray

    from sojourn.figures.canvas import Sheet
    from sojourn.figures.channels import Channels
    from sojourn.model.results.result import Result


def label_axes(
    grid: NDArray[np.object_], labels: Sequence[str], span: tuple[float, float], results: Sequence[Result], sheet: Sheet
) -> None:
    """Label the rows, set a common time span, shade warm-ups; axes that are not logarithmic start at 0."""
    for row, label in zip(grid, labels, strict=True):
        row[0].set_ylabel(label)
        for axes in row:
            axes.set_xlim(*span)
            if axes.get_yscale() == "linear":
                axes.set_ylim(bottom=0)
    for axes in grid[-1]:
        axes.set_xlabel("time [s]")
    shade_warmups(grid.T.ravel().tolist(), [[result] for result in results for _ in labels], sheet)
    sheet.figure.align_ylabels(grid[:, 0].tolist())


def with_flows(lines: Sequence[Artist], channels: Channels) -> list[Artist]:
    """Entries of a legend: lines by their style, then each flow by its colour if there are several."""
    if len(channels.names) == 1:
        return list(lines)
    dots: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 4}
    return [*lines, *(Line2D([], [], label=str(name), color=channels.color(name), **dots) for name in channels.names)]
