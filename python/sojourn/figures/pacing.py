"""Pacing of TCP flows: pacing rate and delivered rate, gaps between sends, bursts, window and flight over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from sojourn.figures import marks, scales
from sojourn.figures.channels import Channels, muted, of_flows, thin
from sojourn.figures.flow_grid import label_axes, with_flows
from sojourn.figures.scales import plain
from sojourn.figures.window import check_span
from sojourn.model.analysis.labels import Name, first_of_each
from sojourn.model.analysis.packets import between
from sojourn.model.analysis.senders import chosen_flows, delivered, of_flow, span_of
from sojourn.model.analysis.traffic import flow_name

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

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
    """Fill `sheet` with a column of panels per name, for its first seed, with some flows of each, or the first one.

    Without `from_s` and `to_s` it shows two seconds in the middle of the flows' sending time.
    """
    shown = first_of_each(results, names)
    own = {name: chosen_flows(result, flows) for name, result in shown.items()}
    spans = [span_of(result, own[name], LENGTH_S, from_s, to_s) for name, result in shown.items()]
    for span, result in zip(spans, shown.values(), strict=True):
        check_span(*span, result.duration_s)
    start, end = min(span[0] for span in spans), max(span[1] for span in spans)
    grid = sheet.blocks(len(shown), 4, height=1.15, min_width=3.0)
    channels = of_flows((flow_name(result, flow) for flow in own[name]) for name, result in shown.items())
    alone = len(channels.names) == 1
    steps = []
    for column, (name, result) in enumerate(shown.items()):
        of = str(name) if len(shown) > 1 else ""
        for flow in own[name]:
            color = channels.color(Name(flow_name(result, flow)))
            second = channels.colors[1 % len(channels.colors)] if alone else color
            steps.append(draw_flow(result, flow, (start, end), list(grid[:, column]), (color, second), sheet, of))
        scales.title(grid[0, column], f"{name}, {channels.names[0]}" if alone else str(name))
    label_axes(grid, LABELS, (start, end), list(shown.values()), sheet)
    sheet.legend(_entries(channels, alone))
    low, high = min(steps), max(steps)
    spread = plain(round(low, 1)) if high - low < 0.1 else f"{plain(round(low, 1))} to {plain(round(high, 1))}"
    sheet.note(f"delivered: acknowledged or SACKed, per {spread} ms, about a round trip")


def draw_flow(
    result: Result,
    flow: int,
    span: tuple[float, float],
    panels: Sequence[Axes],
    colors: tuple[str, str],
    sheet: Sheet,
    title: str = "",
) -> float:
    """Draw a flow in its four panels; return the step of the delivered rate in ms. `title` names its run in notes."""
    rates, gaps, bursts, windows = panels
    color, second = colors
    name = flow_name(result, flow)
    senders = of_flow(result.senders, flow)
    states = pl.concat([senders.filter(pl.col("time_s") < span[0]).tail(1), between(senders, *span)])
    times = np.append(np.maximum(states["time_s"], span[0]), span[1])

    def line(axes: Axes, values: pl.Series, quantity: str, **look: Any) -> None:
        steps = np.append(values.to_numpy(), values.to_numpy()[-1:])
        style = {"drawstyle": "steps-post", "color": color, "linewidth": thin(0.8), **look}
        marks.line(axes, times[: len(steps)], steps, f"{quantity}, {name}", **style)

    if states.height and not states["pacing_bps"].is_nan().all():
        line(rates, states["pacing_bps"] * 1e-6, PACING)
    elif states.height:
        sheet.note(f"{title}, {name}, is not paced" if title else f"{name} is not paced")
    step = _draw_delivered(of_flow(result.acks, flow), states, span, rates, f"{DELIVERED}, {name}", second)
    sends = sends_of(of_flow(result.segments, flow))
    inside = between(sends, *span)
    dots = {"s": thin(1.3) ** 2, "linewidths": 0, "color": color}
    positive = inside.filter(pl.col("gap_ms") > 0)
    marks.points(gaps, positive["time_s"], positive["gap_ms"], name, **dots)
    scales.log_axis(gaps, "y")
    marks.points(bursts, inside["time_s"], inside["segments"], name, **dots)
    if states.height:
        line(windows, states["cwnd"], WINDOW)
        line(windows, states["in_flight"], FLIGHT, color=second, linestyle=DOTS)
    return step


def sends_of(segments: pl.DataFrame) -> pl.DataFrame:
    """Sends at one instant: `time_s`, `segments` with data, and `gap_ms`, the time since the previous send."""
    data = segments.filter(pl.col("payload") > 0)
    sends = data.group_by("time_s", maintain_order=True).agg(pl.len().alias("segments"))
    return sends.with_columns(gap_ms=1e3 * pl.col("time_s").diff())


def _draw_delivered(
    acks: pl.DataFrame, states: pl.DataFrame, span: tuple[float, float], axes: Axes, name: str, color: str
) -> float:
    """Draw the delivery rate, per round trip; return that step in ms."""
    srtt_ms = states["srtt_ms"].mean() if states.height else None
    step_s = max(float(srtt_ms or 0.0) / 1e3, (span[1] - span[0]) / STEPS)  # type: ignore[arg-type]
    edges = np.arange(span[0], span[1] + step_s / 2, step_s)
    totals = np.concatenate([[0], delivered(acks)])
    reached = totals[np.searchsorted(acks["time_s"].to_numpy(), edges, side="right")]
    if len(edges) > 1:
        values = np.diff(reached) * 8e-6 / step_s
        marks.steps(axes, edges, values, name, base=None, color=color, linewidth=thin(0.8), linestyle=DOTS)
    return 1e3 * step_s


def _entries(channels: Channels, alone: bool) -> list[Artist]:
    """Legend of the lines: by style, and by the colours of the flows if there are several."""
    first, second = channels.colors[0], channels.colors[1 % len(channels.colors)]
    of_first, of_second = (first, second) if alone else (muted(), muted())
    lines = [
        Line2D([], [], label=f"{PACING}; {WINDOW}", color=of_first),
        Line2D([], [], label=f"{DELIVERED}; {FLIGHT}", color=of_second, linestyle=DOTS),
    ]
    return with_flows(lines, channels)


PACING, DELIVERED = "pacing rate", "delivered rate"
WINDOW, FLIGHT = "cwnd", "in flight"
LABELS = ("rate [Mbit/s]", "gap [ms]", "burst\n[segments]", "window\n[segments]")
DOTS: Any = (0, (2, 1))
LENGTH_S = 2.0
"""Default length of the time span."""
STEPS = 300
"""Maximum number of steps of the delivered rate."""
