"""Cumulative bytes sent by the forward link over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sojourn.figures import marks, scales
from sojourn.figures.channels import Channels, facets
from sojourn.figures.timeseries import forward_packets
from sojourn.figures.warmup import shade_warmups
from sojourn.model.analysis.labels import Name, first_of_each
from sojourn.model.analysis.packets import dropped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result


def draw(results: Sequence[Result], names: Sequence[Name], sheet: Sheet) -> None:
    """Fill `sheet` with a curve per name, for its first seed; many names are split into a panel for each load."""
    shown = first_of_each(results, names)
    groups = facets(shown)
    panels = sheet.tiles(len(groups), height=3.5 if len(groups) == 1 else 1.9)
    channels = Channels(called for group in groups.values() for called in group.values())
    sent = {name: sent_bytes(forward_packets(result)) for name, result in shown.items()}
    most = max(int(packets["bytes"].sum()) for packets in sent.values())
    factor, unit = (1e-6, "MB") if most >= 1e6 else (1e-3, "kB")
    for axes, (load, group) in zip(panels, groups.items(), strict=True):
        for name, called in group.items():
            look = channels.line(called)
            draw_total(sent[name], shown[name].duration_s, axes, factor=factor, name=str(called), **look)
        if load:
            scales.title(axes, load)
    for axes in panels:
        axes.set_xlim(0, max(result.duration_s for result in shown.values()))
        axes.set_ylim(bottom=0)
    for axes in sheet.bottom:
        axes.set_xlabel("time [s]")
    for axes in sheet.left:
        axes.set_ylabel(f"bytes sent [{unit}]")
    shade_warmups(panels, [[shown[name] for name in group] for group in groups.values()], sheet)
    sheet.legend(channels.legend())


def sent_bytes(packets: pl.DataFrame) -> pl.DataFrame:
    """Size of every sent packet, with `time_s`."""
    return packets.filter(~dropped()).select("time_s", pl.col("bytes").cast(pl.Int64)).sort("time_s")


def draw_total(
    sent: pl.DataFrame, duration_s: float, axes: Axes, *, factor: float, name: str = "", **look: Any
) -> None:
    """Draw the cumulative bytes times `factor` over time, at a limited number of instants."""
    at_s = np.linspace(0, duration_s, INSTANTS)
    sums = np.concatenate([[0], np.cumsum(sent["bytes"])])
    reached = sums[np.searchsorted(sent["time_s"].to_numpy(), at_s, side="right")]
    marks.line(axes, at_s, reached * factor, name, **look)


INSTANTS = 1001
"""Number of points of a curve."""
