"""Warm-up in figures over time: the whole run is drawn, the warm-up on grey."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sojourn.figures import marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result

NOTE = "grey: warm-up, not in the statistics"


def shade_warmups(
    panels: Iterable[Axes], results: Sequence[Sequence[Result]], sheet: Sheet, *, areas: bool = False
) -> None:
    """Shade the warm-ups of the results in each of `panels`, and add a note below the figure.

    Panels with filled `areas`, which would hide the shading, are shaded on top of them.
    """
    spans = [sorted({one.warmup_s for one in own}) for own in results]
    shaded = [_shade(axes, own, areas) for axes, own in zip(panels, spans, strict=True)]
    if any(shaded):
        sheet.note(NOTE)


def _shade(axes: Axes, warmups: Sequence[float], areas: bool) -> bool:
    """Shade from 0 s to each of `warmups` within the axis; longer ones are lighter."""
    limits = axes.get_xlim()
    ends = [end for end in warmups if limits[0] < end]
    zorder, alpha = (1.5, 0.4) if areas else (0.0, 0.17)
    for end in ends:
        marks.shade(axes, min(0.0, limits[0]), end, GID, zorder=zorder, facecolor="0.5", alpha=alpha)
    axes.set_xlim(limits)
    return bool(ends)


GID = "warm-up"
"""Id of the shaded areas, in SVG files too, and their name in the plotted data."""
