"""Rate of a trace over time, with its gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sojourn.errors import InputError
from sojourn.plots.canvas import curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.traces import Opportunities


def draw_traces(
    traces: Sequence[Opportunities], labels: Sequence[str], figure: Figure, *, step_ms: int = 100, mtu: int = 1500
) -> None:
    """Fill `figure` with one panel per trace; the panels share both axes."""
    if (steps := max(int(trace[-1]) for trace in traces) // step_ms) > MOST_STEPS:
        raise InputError(f"--step: {step_ms} ms makes {steps} steps, more than {MOST_STEPS}; give a wider one")
    figure.set_size_inches(7.0, 1.2 + 1.6 * len(traces))
    panels = figure.subplots(len(traces), 1, sharex=True, sharey=True, squeeze=False)[:, 0].tolist()
    for trace, label, axes, curve in zip(traces, labels, panels, curves(len(traces)), strict=True):
        trace_rate(trace, axes, step_ms=step_ms, mtu=mtu, color=curve["color"])
        count = draw_gaps(trace, axes)
        axes.set_title(label, loc="left", color=curve["color"], fontweight="bold", pad=3)
        note = f"{count} gap{'' if count == 1 else 's'} of more than {LONG_MS} ms"
        axes.set_title(f"{note} (red)" if count else f"no {note[2:]}", loc="right", color="0.35", fontsize=7, pad=3)
        axes.set_ylabel("Mbit/s")
    panels[0].set_xlim(0, max(float(trace[-1]) for trace in traces) / 1000)
    panels[0].set_ylim(bottom=0)
    panels[-1].set_xlabel(f"time [s]   (rate in steps of {step_ms} ms)")


def trace_rate(trace: Opportunities, axes: Axes, *, step_ms: int, mtu: int, color: str) -> None:
    """Rate in Mbit/s per step."""
    edges = np.arange(0, int(trace[-1]) + step_ms, step_ms)
    counts, _ = np.histogram(trace, bins=edges)
    axes.stairs(counts * mtu * 8 / step_ms / 1000, edges / 1000, fill=True, color=color, alpha=0.75, linewidth=0)


def draw_gaps(trace: Opportunities, axes: Axes) -> int:
    """Mark the gaps of more than `LONG_MS` below the axis of time; return their number."""
    times_ms = np.concatenate(([0], trace.astype(np.int64)))
    long = np.flatnonzero(np.diff(times_ms) > LONG_MS)
    starts, ends = times_ms[long] / 1000, times_ms[long + 1] / 1000
    below = axes.get_xaxis_transform()
    axes.hlines([-0.03] * len(long), starts, ends, transform=below, clip_on=False, colors=RED, linewidth=4)
    return len(long)


MOST_STEPS = 2_000_000
"""Steps of a curve: two days of 100 ms."""
LONG_MS = 100
"""Gaps longer than this are outages."""
RED = "#c1121f"
