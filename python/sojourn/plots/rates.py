"""Ingress, egress and capacity of the forward link over time, as areas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sojourn.errors import InputError
from sojourn.labels import first_of_each
from sojourn.packets import dropped
from sojourn.plots.canvas import shared_legend
from sojourn.plots.capacity import draw_capacity, known_capacity, measured_capacity, step_edges
from sojourn.plots.timeseries import forward_packets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from sojourn.result import Result


def draw(results: Sequence[Result], labels: Sequence[str], figure: Figure, step_s: float | None = None) -> None:
    """Fill `figure` with one panel per label, for its first seed; the panels share both axes.

    Without `step_s` packets are counted in steps of a 150th of the longest run.
    """
    shown = first_of_each(results, labels)
    longest = max(result.duration_s for result in shown.values())
    step = float(f"{longest / STEPS:.1g}") if step_s is None else step_s
    if not longest / MOST_STEPS <= step <= longest:
        raise InputError(f"--step {step:g}: must lie between {longest / MOST_STEPS:g} and {longest:g} s in these runs")
    figure.set_size_inches(7.0, 1.4 + 1.5 * len(shown))
    panels = figure.subplots(len(shown), 1, sharex=True, sharey=True, squeeze=False)[:, 0].tolist()
    for (label, result), axes in zip(shown.items(), panels, strict=True):
        draw_rates(result, step, axes)
        axes.set_title(label, loc="left", fontweight="bold", pad=3)
        axes.set_ylabel("Mbit/s")
    panels[0].set_ylim(bottom=0)
    panels[0].set_xlim(0, longest)
    panels[-1].set_xlabel(f"time [s]   (packets counted in steps of {step:g} s)")
    shared_legend(figure, panels)


def draw_rates(result: Result, step_s: float, axes: Axes) -> None:
    """Draw the areas of capacity, of ingress, and of egress before both, and the outline of ingress over all."""
    capacity = None if result.is_log else known_capacity(result.scenario, step_s) or measured_capacity(result)
    if capacity:
        draw_capacity(capacity, axes, label="capacity", zorder=1)
    else:
        why = "not in the log" if result.is_log else 'random, recorded with --set probes.utilisation="1 s"'
        axes.set_title(f"capacity: {why}", loc="right", color="0.35", fontsize=7, pad=3)
    arriving, leaving, edges = rates(result, step_s)
    axes.stairs(arriving, edges, fill=True, color="#E69F00", alpha=0.4, linewidth=0, zorder=1.1)
    axes.stairs(leaving, edges, fill=True, color="#56B4E9", label="egress", zorder=1.2)
    # Black stands out from both areas in grey print too.
    axes.stairs(arriving, edges, baseline=None, color="black", linewidth=0.8, label="ingress", zorder=1.3)


def rates(result: Result, step_s: float) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mbit/s that arrived and that were sent per step, and the steps' edges in s.

    Arrivals are those of packets sent, dropped, and still waiting at the end. A drop of which a log does not say how
    long the packet had waited counts as an arrival at its instant.
    """
    packets = forward_packets(result)
    waiting = result.waiting.filter(pl.col("link") == "forward")
    edges = step_edges(result.duration_s, step_s)
    # Rounding must not put an arrival at zero before it.
    arrival = (pl.col("time_s") - pl.col("sojourn_ms").fill_null(0) / 1e3).clip(lower_bound=0)
    arrived = packets.select(arrival.alias("time_s"), "bytes")
    arrived = pl.concat([arrived, waiting.select("time_s", "bytes")])
    return _mbps(arrived, edges), _mbps(packets.filter(~dropped()), edges), edges


def _mbps(packets: pl.DataFrame, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    counted, _ = np.histogram(packets["time_s"], bins=edges, weights=packets["bytes"])
    return np.asarray(8e-6 * counted / np.diff(edges))


STEPS = 150
MOST_STEPS = 5000
"""More steps than a figure can show; as many as it may be asked for."""
