"""Rate of a trace over time, with its gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sojourn.base.errors import InputError
from sojourn.figures import marks, scales
from sojourn.figures.channels import Channels, thin
from sojourn.model.analysis.labels import Name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.figures.canvas import Sheet
    from sojourn.io.traces.delivery import Opportunities


def draw_traces(
    traces: Sequence[Opportunities], names: Sequence[Name], sheet: Sheet, *, step_ms: int = 100, mtu: int = 1500
) -> None:
    """Fill `sheet` with one panel per trace; the panels share both axes."""
    if (steps := max(int(trace[-1]) for trace in traces) // step_ms) > MAX_STEPS:
        raise InputError(f"--step: {step_ms} ms makes {steps} steps, more than {MAX_STEPS}; give a wider one")
    panels = sheet.panels(len(traces), height=1.7)[:, 0]
    channels = Channels(names)
    longest = max(float(trace[-1]) for trace in traces) / 1000
    gaps = 0
    for trace, name, axes in zip(traces, names, panels, strict=True):
        trace_rate(trace, axes, step_ms=step_ms, mtu=mtu, color=channels.color(name))
        count = draw_gaps(trace, axes)
        scales.title(axes, str(name))
        scales.remark(axes, f"{count} gap{'' if count == 1 else 's'}" if count else "no gap")
        axes.set_ylabel("rate [Mbit/s]")
        axes.set_xlim(0, longest)
        axes.set_ylim(bottom=0)
        gaps += count
    panels[-1].set_xlabel("time [s]")
    sheet.note(f"rate in steps of {step_ms} ms; gaps of more than {LONG_MS} ms" + (": bars below" if gaps else ""))


def trace_rate(trace: Opportunities, axes: Axes, *, step_ms: int, mtu: int, color: str) -> None:
    """Draw the rate in Mbit/s per step."""
    edges = np.arange(0, int(trace[-1]) + step_ms, step_ms)
    counts, _ = np.histogram(trace, bins=edges)
    rates = counts * mtu * 8 / step_ms / 1000
    marks.steps(axes, edges / 1000, rates, fill=True, color=color, alpha=0.75, linewidth=0)


def draw_gaps(trace: Opportunities, axes: Axes) -> int:
    """Mark the gaps of more than `LONG_MS` below the axis of time; return their number."""
    times_ms = np.concatenate(([0], trace.astype(np.int64)))
    long = np.flatnonzero(np.diff(times_ms) > LONG_MS)
    starts, ends = times_ms[long] / 1000, times_ms[long + 1] / 1000
    marks.spans(axes, starts, ends, "gaps", height=-0.03, colors=RED, linewidth=thin(3.0))
    return len(long)


MAX_STEPS = 2_000_000
"""Maximum number of steps of a curve: two days of 100 ms."""
LONG_MS = 100
"""Gaps longer than this are outages."""
RED = "#c1121f"
