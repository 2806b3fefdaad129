"""Time–sequence figure of a TCP flow in tcptrace's style: sent, retransmitted, acknowledged, SACKed, dropped data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from sojourn.base.errors import InputError
from sojourn.figures import marks, scales
from sojourn.figures.channels import colors, muted, thin
from sojourn.figures.scales import plain
from sojourn.figures.warmup import shade_warmups
from sojourn.figures.window import check_span
from sojourn.model.analysis.labels import Name, first_of_each
from sojourn.model.analysis.packets import between
from sojourn.model.analysis.senders import at_queues, chosen_flows, newly_sacked, of_flow, span_of
from sojourn.model.analysis.traffic import flow_name

if TYPE_CHECKING:
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
    """Fill `sheet` with one panel per name, for its first seed, each with the same flow, or the first one.

    Without `from_s` and `to_s` a panel shows a second in the middle of the flow's sending time.
    """
    if flows is not None and len(flows) > 1:
        raise InputError(f"--flow: a panel shows one flow; write e.g. --flow {flows[0]}")
    shown = first_of_each(results, names)
    panels = sheet.panels(len(shown), height=3.2 if len(shown) == 1 else 2.4, sharex=False, sharey=False)[:, 0]
    drawings: list[SequencePanel] = []
    for (name, result), axes in zip(shown.items(), panels, strict=True):
        [flow] = chosen_flows(result, flows)
        start, end = span_of(result, [flow], LENGTH_S, from_s, to_s)
        check_span(start, end, result.duration_s)
        drawings.append(draw_flow(result, flow, (start, end), axes, sheet))
        axes.set_xlim(start, end)
        scales.title(axes, f"{name}, {flow_name(result, flow)}")
        axes.set_xlabel("time [s]")
    shade_warmups(panels, [[result] for result in shown.values()], sheet)
    sheet.figure.align_ylabels(panels.tolist())
    drawn = set().union(*(drawing.names for drawing in drawings))
    sheet.legend([entry for entry in entries() if entry.get_label() in drawn])
    free = [one.free for one in drawings if one.free is not None and one.free < UNBOUNDED]
    if free:
        sheet.note(f"receive window: at least {plain(round(min(free) / 1e3))} kB above what was sent")


Numbers: TypeAlias = "pl.Series | Sequence[Any]"


@dataclass
class SequencePanel:
    """A panel with the ranges of its axes."""

    axes: Axes
    span: tuple[float, float]
    low: int
    """Minimum and maximum sequence number of the sent data."""
    top: int
    names: set[str] = field(default_factory=set)
    """Legend names of the drawn series."""
    free: int | None = None
    """Receive window beyond the sent data in bytes, if its edge is not drawn."""

    @property
    def factor(self) -> float:
        """Factor from bytes to the axis' unit."""
        return 1e-6 if self.top > LARGE else 1e-3

    def shown(self, seq: Numbers) -> np.ndarray[Any, Any]:
        """Sequence numbers on the axis: the first byte is at 0."""
        return (np.asarray(seq, dtype=float) - 1) * self.factor

    def look(self, name: str) -> Line2D:
        """Register a series for the legend, and return its appearance."""
        self.names.add(name)
        return next(entry for entry in entries() if entry.get_label() == name)

    def strokes(self, name: str, times: Numbers, ends: tuple[Numbers, Numbers], **look: Any) -> None:
        """Draw ranges of sequence numbers, given by their starts and ends."""
        color = self.look(name).get_color()
        marks.strokes(self.axes, times, self.shown(ends[0]), self.shown(ends[1]), name, color=color, **look)

    def level(self, name: str, states: pl.DataFrame, column: str) -> None:
        """Draw a sequence number that is constant between events."""
        look = self.look(name)
        times = np.append(np.maximum(states["time_s"], self.span[0]), self.span[1])
        values = self.shown(states[column])
        style = {"color": look.get_color(), "linestyle": look.get_linestyle(), "linewidth": thin(0.7)}
        marks.line(self.axes, times, np.append(values, values[-1]), name, drawstyle="steps-post", **style)

    def points(self, name: str, rows: pl.DataFrame, zorder: float) -> None:
        """Draw a point in the middle of each segment."""
        look = self.look(name)
        hollow = look.get_markerfacecolor() == "none"
        style: dict[str, Any] = {"facecolors": "none", "edgecolors": look.get_color()}
        style = style if hollow else {"color": look.get_color()}
        style["linewidths"] = thin(0.8) if hollow or look.get_marker() == "x" else 0
        size = float(look.get_markersize()) ** 2
        middle = self.shown(rows["seq"]) + self.factor * rows["payload"].to_numpy() / 2
        marks.points(self.axes, rows["time_s"], middle, name, s=size, marker=look.get_marker(), zorder=zorder, **style)


def draw_flow(result: Result, flow: int, span: tuple[float, float], axes: Axes, sheet: Sheet) -> SequencePanel:
    """Draw the activity of a flow's sender in a span of time; return the panel."""
    segments = between(of_flow(result.segments, flow), *span).filter(pl.col("payload") > 0)
    senders = of_flow(result.senders, flow)
    states = pl.concat([senders.filter(pl.col("time_s") < span[0]).tail(1), between(senders, *span)])
    top = max([1, *segments.select(pl.col("seq") + pl.col("payload")).to_series(), *states["nxt"]])
    low = min([top, *segments["seq"], *states["una"]])
    drawing = SequencePanel(axes, span, low, top)
    if states.height:
        drawing.level(ACK, states, "una")
        _draw_window(states, drawing)
    for name, again in ((SENT, 0), (RESENT, 1)):
        own = segments.filter(pl.col("again") == again)
        if own.height:
            ends = (own["seq"], own["seq"] + own["payload"])
            drawing.strokes(name, own["time_s"], ends, linewidth=STROKE * thin(1.0), zorder=2 + again)
        if again and own.height:
            drawing.points(name, own, 3.2)
    _draw_sacked(of_flow(result.acks, flow), drawing)
    judged = at_queues(result, flow)
    if judged is None:
        sheet.note("drops and marks: recorded with --set probes.packets=true --set probes.headers=true")
    else:
        for name, is_drop in ((DROPPED, True), (MARKED, False)):
            own = between(judged, *span).filter(pl.col("dropped") == is_drop)
            if own.height:
                drawing.points(name, own, 3.5)
    size = (top - low) or 1
    room = ROOM if WINDOW in drawing.names else 0.0
    least, most = drawing.shown([low, top])
    axes.set_ylim(least - 0.03 * size * drawing.factor, most + (0.03 + room) * size * drawing.factor)
    axes.set_ylabel(f"sequence number [{'MB' if top > LARGE else 'kB'}]")
    return drawing


def _draw_window(states: pl.DataFrame, drawing: SequencePanel) -> None:
    """Draw the receive window's edge if it is near; otherwise store its distance."""
    if min(states["right_edge"]) <= drawing.top + ROOM * (drawing.top - drawing.low):
        drawing.level(WINDOW, states, "right_edge")
        return
    drawing.free = min(states["right_edge"] - states["nxt"])


def _draw_sacked(acks: pl.DataFrame, drawing: SequencePanel) -> None:
    """Draw the blocks that each acknowledgment is the first to SACK."""
    start, end = drawing.span
    found = [
        (time, *block)
        for time, news in zip(acks["time_s"], newly_sacked(acks), strict=True)
        for block in news
        if start <= time < end
    ]
    if found:
        times, starts, ends = zip(*found, strict=True)
        drawing.strokes(SACKED, times, (starts, ends), linewidth=STROKE * thin(1.0), zorder=1.8)


def entries() -> list[Line2D]:
    """Legend entries, which define the appearance of each series."""
    palette = [*colors(), *colors()]
    stroke: dict[str, Any] = {"linestyle": "none", "marker": "|", "markersize": 7}
    return [
        Line2D([], [], label=SENT, color=palette[0], markeredgewidth=1.3, **stroke),
        Line2D([], [], label=RESENT, color=palette[1], linestyle="none", marker="D", markersize=3.6),
        Line2D([], [], label=ACK, color=palette[2]),
        Line2D([], [], label=SACKED, color=palette[3], markeredgewidth=1.3, **stroke),
        Line2D([], [], label=WINDOW, color=muted(), linestyle=(0, (5, 2))),
        Line2D([], [], label=DROPPED, color=palette[6 % len(colors())], linestyle="none", marker="x", markersize=5),
        Line2D(
            [], [], label=MARKED, color=palette[4], linestyle="none", marker="^", markersize=4.6, markerfacecolor="none"
        ),
    ]


SENT, RESENT = "segment", "retransmission"
ACK, SACKED, WINDOW = "cumulative ACK", "SACKed", "receive window"
DROPPED, MARKED = "drop", "congestion mark"
LENGTH_S = 1.0
"""Default length of the time span."""
ROOM = 0.25
"""The receive window is shown if its edge is at most this share of the shown range above the sent data."""
STROKE = 1.6
"""Width of a stroke in lines; it may be only a pixel high."""
LARGE = 10_000_000
"""Sequence numbers above this are in MB."""
UNBOUNDED = 1 << 60
"""A larger window counts as unbounded."""
