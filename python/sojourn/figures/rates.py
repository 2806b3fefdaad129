"""Ingress, egress and capacity of the forward link over time, as areas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import polars as pl

from sojourn.base.errors import InputError
from sojourn.figures import marks, scales
from sojourn.figures.capacity import draw_capacity, known_capacity, measured_capacity, step_edges
from sojourn.figures.channels import areas, thin
from sojourn.figures.scales import plain
from sojourn.figures.timeseries import forward_packets
from sojourn.figures.warmup import shade_warmups
from sojourn.model.analysis.labels import Name, first_of_each
from sojourn.model.analysis.packets import dropped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result


def draw(results: Sequence[Result], names: Sequence[Name], sheet: Sheet, step_s: float | None = None) -> None:
    """Fill `sheet` with one panel per name, for its first seed; the panels share both axes.

    Default `step_s`: a 150th of the longest run.
    """
    shown = first_of_each(results, names)
    longest = max(result.duration_s for result in shown.values())
    step = float(f"{longest / STEPS:.1g}") if step_s is None else step_s
    if not longest / MAX_STEPS <= step <= longest:
        raise InputError(f"--step {step:g}: must lie between {longest / MAX_STEPS:g} and {longest:g} s in these runs")
    panels = sheet.panels(len(shown), height=1.6)[:, 0]
    for (name, result), axes in zip(shown.items(), panels, strict=True):
        draw_rates(result, step, axes)
        scales.title(axes, str(name))
        axes.set_ylabel("rate [Mbit/s]")
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, longest)
    panels[-1].set_xlabel("time [s]")
    shade_warmups(panels, [[result] for result in shown.values()], sheet, areas=True)
    sheet.note(f"packets counted in steps of {plain(step)} s")
    sheet.legend()


def draw_rates(result: Result, step_s: float, axes: Axes) -> None:
    """Draw the areas of capacity, of egress, and of ingress in excess of it, and the outline of ingress on top."""
    capacity = None
    if not result.is_log:
        capacity = known_capacity(result.setup, result.duration_s, step_s) or measured_capacity(result)
    if capacity:
        draw_capacity(capacity, axes, zorder=1)
    else:
        why = "not in the log" if result.is_log else 'random, recorded with --set probes.utilisation="1 s"'
        scales.remark(axes, f"capacity: {why}")
    arriving, leaving, edges = rates(result, step_s)
    sky, orange = areas(5, 4)
    marks.steps(axes, edges, leaving, "egress", fill=True, color=sky, linewidth=0, zorder=1.2)
    most = np.maximum(arriving, leaving)
    above = "ingress above egress: queued or dropped"
    marks.steps(axes, edges, most, above, base=leaving, fill=True, color=orange, linewidth=0, zorder=1.2)
    # The outline contrasts with both areas in grey print too.
    outline = {"color": mpl.rcParams["text.color"], "linewidth": thin(), "zorder": 1.3}
    marks.steps(axes, edges, arriving, "ingress", base=None, **outline)


def rates(result: Result, step_s: float) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mbit/s that arrived and that were sent per step, and the steps' edges in s.

    Arrivals are those of packets sent, dropped, and still queued at the end. A drop without a waiting time in the log
    counts as an arrival at its instant.
    """
    packets = forward_packets(result)
    waiting = result.waiting.filter(pl.col("link") == result.link)
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
MAX_STEPS = 5000
"""Maximum number of steps that may be requested; a figure shows fewer."""
