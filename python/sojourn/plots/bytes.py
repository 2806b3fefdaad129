"""Bytes that the forward link has sent since the start, over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sojourn.labels import first_of_each
from sojourn.packets import dropped
from sojourn.plots.canvas import curves, plain_legend
from sojourn.plots.timeseries import forward_packets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.result import Result


def draw(results: Sequence[Result], labels: Sequence[str], figure: Figure) -> None:
    """Fill `figure` with a curve per label, for its first seed."""
    shown = first_of_each(results, labels)
    axes = figure.subplots()
    sent = {label: sent_bytes(forward_packets(result)) for label, result in shown.items()}
    most = max(int(packets["bytes"].sum()) for packets in sent.values())
    factor, unit = (1e-6, "MB") if most >= 1e6 else (1e-3, "kB")
    for (label, packets), curve in zip(sent.items(), curves(len(sent)), strict=True):
        draw_total(packets, shown[label].duration_s, axes, factor=factor, label=label, **curve)
    axes.set_xlim(0, max(result.duration_s for result in shown.values()))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("time [s]")
    axes.set_ylabel(f"bytes sent [{unit}]")
    plain_legend(axes, list(shown))


def sent_bytes(packets: pl.DataFrame) -> pl.DataFrame:
    """Size of every packet sent, by `time_s`."""
    return packets.filter(~dropped()).select("time_s", pl.col("bytes").cast(pl.Int64)).sort("time_s")


def draw_total(sent: pl.DataFrame, duration_s: float, axes: Axes, *, factor: float, **options: Any) -> None:
    """Draw the sum of the bytes times `factor` over time, at no more instants than a figure can show."""
    at_s = np.linspace(0, duration_s, INSTANTS)
    sums = np.concatenate([[0], np.cumsum(sent["bytes"])])
    reached = sums[np.searchsorted(sent["time_s"].to_numpy(), at_s, side="right")]
    axes.plot(at_s, reached * factor, **options)


INSTANTS = 1001
"""Instants at which a curve is drawn."""
