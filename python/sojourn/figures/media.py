"""Media flows over time: target rate of the encoder, received rate, delay, losses, late frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from sojourn.base.errors import InputError
from sojourn.figures import marks, scales
from sojourn.figures.capacity import draw_capacity, known_capacity
from sojourn.figures.channels import Channels, faint, muted, of_flows, thin
from sojourn.figures.flow_grid import label_axes, with_flows
from sojourn.figures.scales import plain
from sojourn.figures.window import check_span
from sojourn.model.analysis.labels import Name, first_of_each
from sojourn.model.analysis.traffic import flow_name

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result


def draw(
    results: Sequence[Result],
    names: Sequence[Name],
    sheet: Sheet,
    flows: Sequence[int] | None = None,
    from_s: float | None = None,
    to_s: float | None = None,
) -> None:
    """Fill `sheet` with a column of panels per name, for its first seed, with all or some of its media flows."""
    shown = first_of_each(results, names)
    own = {name: chosen(result, flows) for name, result in shown.items()}
    start, end = from_s or 0.0, to_s if to_s is not None else max(result.duration_s for result in shown.values())
    for result in shown.values():
        check_span(start, end, result.duration_s)
    channels = of_flows((flow_name(result, flow) for flow in own[name]) for name, result in shown.items())
    is_known = False
    grid = sheet.blocks(len(shown), len(LABELS), height=1.15, min_width=3.0)
    for column, (name, result) in enumerate(shown.items()):
        panels = list(grid[:, column])
        if capacity := known_capacity(result.setup, result.duration_s, (end - start) / STEPS):
            draw_capacity(capacity, panels[0], zorder=1)
            is_known = True
        for flow in own[name]:
            draw_flow(result, flow, (start, end), panels, channels.color(Name(flow_name(result, flow))))
        scales.title(panels[0], str(name))
    label_axes(grid, LABELS, (start, end), list(shown.values()), sheet)
    most = max(axes.get_ylim()[1] for axes in grid[-1])
    for axes in grid[-1]:
        axes.set_ylim(0, max(most, MIN_COUNT))
    sheet.legend([*_entries(channels), *([Patch(color=faint(), label="capacity")] if is_known else [])])
    step = plain(step_of(start, end))
    sheet.note(f"arrivals, losses and late frames in steps of {step}\N{NO-BREAK SPACE}s, by the sender's reports")


def chosen(result: Result, wanted: Sequence[int] | None) -> list[int]:
    """The requested media flows, or all; raises `InputError` if there is none, or one is of another kind."""
    own = result.media["flow"].unique().sort().to_list()
    if not own:
        raise InputError(f"{result.folder or result}: no media sender has received a report; give a longer duration")
    for flow in wanted or ():
        if flow not in own:
            raise InputError(
                f"--flow {flow}: is not a media flow with a report; expected one of {', '.join(map(str, own))}"
            )
    return list(wanted) if wanted else own


def step_of(start: float, end: float) -> float:
    """Width of the steps in which packets and frames are counted, in s."""
    return float(f"{(end - start) / STEPS:.1g}")


def draw_flow(result: Result, flow: int, span: tuple[float, float], panels: Sequence[Axes], color: str) -> None:
    """Draw a flow in its panels."""
    rates, delays, harm = panels
    reports = result.media.filter(pl.col("flow") == flow)
    inside = reports.filter((pl.col("time_s") >= span[0]) & (pl.col("time_s") <= span[1]))
    name = flow_name(result, flow)
    look: dict[str, Any] = {"color": color, "linewidth": thin(0.8)}
    times = np.append(inside["time_s"], span[1])
    targets = inside["target_bps"].to_numpy() * 1e-6
    held = np.append(targets, targets[-1:])
    marks.line(rates, times[: len(held)], held, f"{TARGET}, {name}", drawstyle="steps-post", **look)
    edges = np.arange(span[0], span[1] + step_of(*span) / 2, step_of(*span))
    arrived = _per_second(reports, "bytes", edges) * 8e-6
    marks.steps(rates, edges, arrived, f"{ARRIVED}, {name}", base=None, linestyle=DOTS, **look)
    received = inside.filter(pl.col("arrived") > 0)
    marks.line(delays, received["time_s"], received["queueing_ms"], f"{DELAY}, {name}", **look)
    marks.steps(harm, edges, _per_second(reports, "lost", edges), f"{LOST}, {name}", base=None, **look)
    late = _per_second(reports, "frames_late", edges)
    marks.steps(harm, edges, late, f"{LATE}, {name}", base=None, linestyle=DOTS, **look)


def _per_second(reports: pl.DataFrame, column: str, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    counted, _ = np.histogram(reports["time_s"], bins=edges, weights=reports[column])
    return np.asarray(counted / np.diff(edges))


def _entries(channels: Channels) -> list[Artist]:
    """Legend of the lines: by style, and by the colours of the flows if there are several."""
    alone = len(channels.names) == 1
    color = channels.colors[0] if alone else muted()
    lines = [
        Line2D([], [], label=f"{TARGET}; {DELAY}; {LOST}", color=color),
        Line2D([], [], label=f"{ARRIVED}; {LATE}", color=color, linestyle=DOTS),
    ]
    return with_flows(lines, channels)


TARGET, ARRIVED = "target rate", "received rate"
DELAY = "queueing delay"
LOST, LATE = "packets lost", "frames late"
LABELS = ("rate [Mbit/s]", "delay [ms]", "lost, late\n[1/s]")
DOTS: Any = (0, (2, 1))
STEPS = 150
MIN_COUNT = 1.0
"""Minimum upper end of the axis of losses and late frames."""
