"""Figures of captures, with RTT for sojourn time and retransmissions for drops; a kind is an entry of `DRAWERS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import polars as pl

from sojourn.base.errors import InputError
from sojourn.figures import marks, scales
from sojourn.figures.api import Plot, filled
from sojourn.figures.channels import Channels, thin
from sojourn.figures.distribution import draw_distribution, format_ccdf_axes, format_cdf_axes, span_of
from sojourn.figures.scales import Span, plain, sojourn_axis
from sojourn.figures.sequence import ACK, LENGTH_S, RESENT, SACKED, SENT, STROKE, SequencePanel, entries
from sojourn.figures.timeseries import DROP_STRIP, draw_drops, draw_series, note_bands
from sojourn.figures.window import check_span
from sojourn.io.pcap.capture import Capture, load_capture
from sojourn.io.pcap.goodput import ALL, FLOW, flow_name, goodput, new_bytes
from sojourn.io.pcap.sender import sender_rtt, unwrap, without_delayed_acks
from sojourn.model.analysis.labels import Name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.figures.canvas import Sheet
    from sojourn.figures.look import Look

MAX_FLOWS = 6
"""Maximum number of flows that are shown separately."""
STEPS = 50
"""Default number of time steps, so that the lines of several flows stay readable."""


def draw(
    kind: str, paths: Sequence[Path], arguments: Mapping[str, Any], look: Look | None = None
) -> tuple[Plot, list[str]]:
    """Draw captures as a figure kind; returns the figure and the notes that are not in it."""
    if kind not in DRAWERS:
        known = ", ".join(DRAWERS)
        raise InputError(f"{paths[0]}: {kind} cannot be drawn from a capture; expected one of {known}")
    captures = [CaptureView.of(path) for path in paths]

    def fill(sheet: Sheet) -> None:
        DRAWERS[kind](captures, sheet, **arguments)
        for one in captures:
            if one.warning:
                sheet.note(one.warning)

    return filled(fill, look=look)


@dataclass(frozen=True)
class CaptureView:
    """A capture prepared for figures."""

    name: str
    packets: pl.DataFrame
    """Packets with `time_s` since the first one, and `flow`."""
    blocks: pl.DataFrame
    warning: str | None

    @classmethod
    def of(cls, path: Path) -> CaptureView:
        """Read a capture file."""
        capture: Capture = load_capture(path)
        since = (pl.col("time_ns") - pl.col("time_ns").min()) / 1e9
        packets = capture.packets.with_row_index("row").with_columns(time_s=since, flow=flow_name())
        return cls(path.name, packets, capture.blocks, capture.warning)

    @property
    def duration_s(self) -> float:
        """Time from the first packet to the last."""
        return float(self.packets["time_s"].max() or 0.0)  # type: ignore[arg-type]

    @cached_property
    def with_new_bytes(self) -> pl.DataFrame:
        """Packets with `new`, the payload bytes seen for the first time."""
        return self.packets.with_columns(new=pl.Series(new_bytes(self.packets), dtype=pl.Int64))

    @property
    def senders(self) -> list[str]:
        """TCP flows with data, in descending order of payload."""
        data = self.packets.filter((pl.col("protocol") == "tcp") & (pl.col("payload") > 0))
        sums = data.group_by("flow").agg(pl.col("payload").cast(pl.Int64).sum(), pl.col("time_s").min())
        return sums.sort("payload", "time_s", "flow", descending=[True, False, False])["flow"].to_list()

    def samples(self) -> pl.DataFrame:
        """RTT samples from a segment to the ACK that it triggered: `time_s`, `flow`, `rtt_ms`."""
        first = int(self.packets["time_ns"].min())  # type: ignore[arg-type]
        try:
            found = without_delayed_acks(sender_rtt(self.packets, self.blocks))
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from None
        return found.select(time_s=(pl.col("time_ns") - first) / 1e9, flow="flow", rtt_ms=pl.col("rtt_ns") / 1e6)

    def retransmissions(self) -> pl.DataFrame:
        """Segments with payload that was seen before: `time_s`, `flow`."""
        tcp = (pl.col("protocol") == "tcp") & (pl.col("new") < pl.col("payload"))
        return self.with_new_bytes.filter(tcp).select("time_s", "flow")


@dataclass(frozen=True)
class Curve:
    """RTT samples and retransmissions of one curve."""

    name: Name
    samples: pl.DataFrame
    retransmissions: pl.Series


def _curves(captures: Sequence[CaptureView], sheet: Sheet) -> list[Curve]:
    """A curve per flow of one capture, or per capture of several."""
    sheet.note("RTT: from a segment to the acknowledgment that its arrival caused, without delayed ones")
    if len(captures) > 1:
        return [Curve(Name(one.name), one.samples(), one.retransmissions()["time_s"]) for one in captures]
    [one] = captures
    samples, retransmissions = one.samples(), one.retransmissions()
    found = [flow for flow in one.senders if flow in set(samples["flow"])]
    if len(found) > MAX_FLOWS:
        sheet.note(f"the {MAX_FLOWS} flows with most data, of {len(found)}")
    by_flow = [(flow, samples.filter(pl.col("flow") == flow)) for flow in found[:MAX_FLOWS]]
    return [
        Curve(Name(_short(flow)), rows, retransmissions.filter(pl.col("flow") == flow)["time_s"])
        for flow, rows in by_flow
    ]


def _short(flow: str) -> str:
    return flow.removeprefix("tcp ")


def _over_time(captures: Sequence[CaptureView], sheet: Sheet) -> None:
    """RTT over time, a panel per flow or capture; retransmissions are thin vertical lines."""
    curves = _curves(captures, sheet)
    channels = Channels(curve.name for curve in curves)
    panels = sheet.panels(len(curves), height=1.4)[:, 0]
    duration = max(one.duration_s for one in captures)
    for curve, axes in zip(curves, panels, strict=True):
        draw_series(curve.samples, "rtt_ms", axes, color=channels.color(curve.name))
        draw_drops(curve.retransmissions, axes, label=("retransmission", "retransmissions"))
        scales.title(axes, str(curve.name), color=channels.color(curve.name) if len(curves) > 1 else None)
        axes.set_ylabel("RTT [ms]")
        axes.set_xlim(0, duration)
    for axes in panels:
        sojourn_axis(axes, [_span(curve) for curve in curves], which="y", headroom=DROP_STRIP)
    panels[-1].set_xlabel("time [s]")
    note_bands([curve.samples.height for curve in curves], duration, sheet)


def _span(curve: Curve) -> Span:
    low, median, high = (float(curve.samples["rtt_ms"].quantile(q) or 0.0) for q in (0.02, 0.5, 1.0))
    return Span(low, median, high)


def _distribution(captures: Sequence[CaptureView], sheet: Sheet, *, tail: bool) -> None:
    """Distribution of the RTT, a curve per flow or capture."""
    curves = _curves(captures, sheet)
    channels = Channels(curve.name for curve in curves)
    [axes] = sheet.tiles(1, height=3.5)
    histograms = {curve.name: _histogram(curve.samples) for curve in curves}
    draw_distribution(histograms, axes, channels, tail=tail)
    sojourn_axis(axes, [span_of(histogram, tail=tail) for histogram in histograms.values()])
    axes.set_xlabel("RTT [ms]")
    if tail:
        format_ccdf_axes([axes], max(curve.samples.height for curve in curves), sheet, "share with a longer RTT")
    else:
        format_cdf_axes([axes], sheet, "share of segments")
    sheet.legend(channels.legend())


def _histogram(samples: pl.DataFrame) -> pl.DataFrame:
    value = pl.col("rtt_ms")
    return samples.group_by(lower_ms=value, upper_ms=value).agg(count=pl.len()).sort("lower_ms")


def _rates(captures: Sequence[CaptureView], sheet: Sheet, step_s: float | None = None) -> None:
    """Goodput of each flow and of all, a panel per capture."""
    longest = max(one.duration_s for one in captures)
    step = float(f"{longest / STEPS:.1g}") if step_s is None else step_s
    if not 0 < step <= max(longest, 1e-9):
        raise InputError(f"--step {step:g}: must lie between 0 and {longest:g} s in these captures")
    panels = sheet.panels(len(captures), height=2.4 if len(captures) == 1 else 1.6)[:, 0]
    for one, axes in zip(captures, panels, strict=True):
        _draw_rates(one, step, axes, sheet)
        axes.set_xlim(0, longest)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("goodput [Mbit/s]")
        if len(captures) > 1:
            scales.title(axes, one.name)
    panels[-1].set_xlabel("time [s]")
    sheet.note(f"payload not seen before, in steps of {plain(step)} s")
    sheet.legend()


def _draw_rates(one: CaptureView, step: float, axes: Axes, sheet: Sheet) -> None:
    table = goodput(one.packets, max(1, round(1e9 * step)))
    sums = table.filter(pl.col("flow") != ALL).group_by("flow").agg(pl.col("bytes").sum())
    largest = sums.sort("bytes", "flow", descending=[True, False])["flow"].to_list()
    if len(largest) > MAX_FLOWS:
        sheet.note(f"{one.name}: the {MAX_FLOWS} flows with most data, of {len(largest)}, and all together")
    shown = largest[:MAX_FLOWS]
    channels = Channels(Name(flow) for flow in shown)
    edges = np.append(table.filter(pl.col("flow") == ALL)["time_s"].to_numpy(), 0.0)
    edges[-1] = edges[-2] + step
    for flow in [*shown, *([ALL] if len(largest) > 1 else [])]:
        values = table.filter(pl.col("flow") == flow)["goodput_bps"].to_numpy() / 1e6
        color = mpl.rcParams["text.color"] if flow == ALL else channels.color(Name(flow))
        name = "all flows" if flow == ALL else _short(flow)
        marks.steps(axes, edges, values, name, base=None, color=color, linewidth=thin(0.6 if flow == ALL else 1.0))


def _sequence(
    captures: Sequence[CaptureView],
    sheet: Sheet,
    flows: Sequence[int] | None = None,
    from_s: float | None = None,
    to_s: float | None = None,
) -> None:
    """Time–sequence figure of a flow: segments, retransmissions, ACKs, SACK blocks."""
    panels = sheet.panels(len(captures), height=3.2 if len(captures) == 1 else 2.4, sharex=False, sharey=False)[:, 0]
    drawn: set[str] = set()
    for one, axes in zip(captures, panels, strict=True):
        number = flows[0] if flows else 0
        if number >= len(one.senders):
            there = f"{len(one.senders)} TCP flows have data; the largest is 0"
            raise InputError(f"{one.name}: --flow {number}: {there}")
        flow = one.senders[number]
        drawn |= _draw_flow(one, flow, (from_s, to_s), axes)
        scales.title(axes, f"{one.name}, flow {number}: {_short(flow)}")
        axes.set_xlabel("time [s]")
    sheet.legend([entry for entry in entries() if entry.get_label() in drawn])


def _draw_flow(one: CaptureView, flow: str, wanted: tuple[float | None, float | None], axes: Axes) -> set[str]:
    """Draw a time span of a flow; returns the names of the drawn elements. Sequence numbers start at 1."""
    sent = one.with_new_bytes.filter(pl.col("flow") == flow)
    base = int(sent["seq"][0])
    segments = sent.with_columns(seq=unwrap(sent["seq"], base) + 1).filter(pl.col("payload") > 0)
    span = _time_span(segments["time_s"], wanted, one.duration_s)
    back = one.packets.filter(pl.col("flow") == _reverse_flow(sent), (pl.col("flags") & ACK_FLAG) > 0)
    acks = back.with_columns(una=unwrap(back["ack"], base) + 1).filter(pl.col("time_s").is_between(*span))
    segments = segments.with_columns(pl.col("payload").cast(pl.Int64)).filter(pl.col("time_s").is_between(*span))
    top = max([1, *(segments["seq"] + segments["payload"]), *acks["una"]])
    low = min([top, *segments["seq"], *acks["una"]])
    drawing = SequencePanel(axes, span, low, top)
    if acks.height:
        drawing.level(ACK, acks.select("time_s", pl.col("una").cum_max()), "una")
    _draw_segments(segments, drawing)
    _draw_sacked(one.blocks.join(acks.select("row", "time_s"), on="row", maintain_order="right"), base, drawing)
    margin = 0.03 * ((top - low) or 1) * drawing.factor
    bottom, upper = drawing.shown([low, top])
    axes.set_ylim(bottom - margin, upper + margin)
    axes.set_xlim(*span)
    axes.set_ylabel(f"sequence number [{'MB' if drawing.factor < 1e-3 else 'kB'}]")
    return drawing.names


def _draw_segments(segments: pl.DataFrame, drawing: SequencePanel) -> None:
    """Draw segments as strokes, retransmissions also as points."""
    retransmissions = pl.col("new") < pl.col("payload")
    for name, part in ((SENT, segments.filter(~retransmissions)), (RESENT, segments.filter(retransmissions))):
        if part.height:
            ends = (part["seq"], part["seq"] + part["payload"])
            drawing.strokes(name, part["time_s"], ends, linewidth=STROKE * thin(1.0), zorder=2)
        if part.height and name == RESENT:
            drawing.points(name, part, 3.2)


def _draw_sacked(blocks: pl.DataFrame, base: int, drawing: SequencePanel) -> None:
    """Draw the SACK blocks at their arrival times."""
    if blocks.height:
        ends = (unwrap(blocks["first"], base) + 1, unwrap(blocks["end"], base) + 1)
        drawing.strokes(SACKED, blocks["time_s"], ends, linewidth=thin(0.5), zorder=1.8)


def _time_span(times: pl.Series, wanted: tuple[float | None, float | None], duration: float) -> tuple[float, float]:
    """Time span to show: the wanted one, by default a second in the middle of the flow's data."""
    first, last = float(times.min()), float(times.max())  # type: ignore[arg-type]
    start = first if last - first <= LENGTH_S else (first + last) / 2
    start = start if wanted[0] is None else wanted[0]
    end = min(start + LENGTH_S, duration) if wanted[1] is None else wanted[1]
    check_span(start, end, duration)
    return start, end


def _reverse_flow(sent: pl.DataFrame) -> str:
    source, port, destination, other, protocol = sent.select(FLOW).row(0)
    return f"{protocol} {destination}:{other} > {source}:{port}"


ACK_FLAG = 16
Drawer = Callable[..., None]
DRAWERS: dict[str, Drawer] = {
    "timeseries": _over_time,
    "cdf": partial(_distribution, tail=False),
    "ccdf": partial(_distribution, tail=True),
    "rates": _rates,
    "sequence": _sequence,
}
"""Figure kinds of captures."""
