"""Sojourn time over time, one panel per run, with drops as thin vertical lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.base.errors import InputError
from sojourn.base.late import pl
from sojourn.figures import marks, scales
from sojourn.figures.channels import Channels, muted, thin
from sojourn.figures.scales import Span, plain, sojourn_axis
from sojourn.figures.warmup import shade_warmups
from sojourn.model.analysis.labels import Name, first_of_each

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from sojourn.base.frames import Columns
    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result


def draw(results: Sequence[Result], names: Sequence[Name], sheet: Sheet) -> None:
    """Fill `sheet` with one panel per name, for its first seed; the panels share both axes."""
    shown = first_of_each(results, names)
    panels = sheet.panels(len(shown), height=1.4)[:, 0]
    packets = {name: drawn_packets(result) for name, result in shown.items()}
    draw_panels(packets, panels.tolist())
    panels[-1].set_xlabel("time [s]")
    for axes in panels:
        axes.set_xlim(0, max(result.duration_s for result in shown.values()))
    shade_warmups(panels, [[result] for result in shown.values()], sheet)
    duration = max(result.duration_s for result in shown.values())
    note_bands([len(one["time_s"]) for one in packets.values()], duration, sheet)


def note_bands(rows: Iterable[int], duration: float, sheet: Sheet) -> None:
    """Add a note that explains line and band of `draw_series`, if a table has so many rows that there is a band."""
    if max(rows) > 2 * STEPS:
        sheet.note(f"line: median of {plain(float(f'{1000 * duration / STEPS:.3g}'))} ms, band: lowest to highest")


def forward_packets(result: Result) -> pl.DataFrame:
    """Packets of the forward link, sent and dropped."""
    packets = result.packets.filter(pl.col("link") == result.link)
    _refuse_none(packets.height, result)
    return packets


def drawn_packets(result: Result) -> Columns:
    """Packets of the forward link as drawn: `time_s`, `sojourn_ms`, `dropped`."""
    packets = result.packets_of_link()
    _refuse_none(len(packets["time_s"]), result)
    return packets


def _refuse_none(packets: int, result: Result) -> None:
    if not packets:
        raise InputError(f"{result.folder or result}: no packet passed the link; give a longer duration")


def draw_panels(runs: Mapping[Name, Columns], panels: Sequence[Axes]) -> None:
    """Draw one run per panel, on a common axis of sojourn time."""
    channels = Channels(runs)
    spans = []
    for (name, packets), axes in zip(runs.items(), panels, strict=True):
        spans.append(sojourn_series(packets, axes, color=channels.color(name)))
        scales.title(axes, str(name), color=channels.color(name) if len(runs) > 1 else None)
        axes.set_ylabel("sojourn [ms]")
    for axes in panels:
        sojourn_axis(axes, spans, which="y", headroom=DROP_STRIP)


def sojourn_series(packets: Columns, axes: Axes, **look: Any) -> Span:
    """Draw the sojourn time in ms over time in s and a line per drop; return the span of the sojourn times."""
    dropped = packets["dropped"]
    sent = {name: packets[name][~dropped] for name in ("time_s", "sojourn_ms")}
    draw_series(sent, "sojourn_ms", axes, **look)
    draw_drops(packets["time_s"][dropped], axes)
    times = np.sort(sent["sojourn_ms"])
    places = [int((len(times) - 1) * q + 0.5) for q in (0.02, 0.5, 1.0)]
    low, median, high = (float(times[place]) if len(times) else 0.0 for place in places)
    return Span(low, median, high)


def draw_series(table: Columns | pl.DataFrame, value: str, axes: Axes, *, name: str = "", **look: Any) -> None:
    """Draw every `value` over `time_s`; with many rows the median and range per step, which keeps files small."""
    time, values = np.asarray(table["time_s"]), np.asarray(table[value])
    if len(time) <= 2 * STEPS:
        marks.line(axes, time, values, name, **{"linewidth": thin(), **look})
        return
    step = ((time - time.min()) / (time.max() - time.min()) * STEPS).astype(np.int64)
    middle, _, _ = _ranges(step, time)
    median, low, high = _ranges(step, values)
    marks.band(axes, middle, low, high, color=look.get("color"), alpha=0.35)
    marks.line(axes, middle, median, name, **{"linewidth": thin(), **look})


def _ranges(step: NDArray[np.int64], values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Median, minimum and maximum of the values of each step, without NaN unless a step has nothing else."""
    order = np.lexsort((values, step))  # NaN comes last
    values = values[order]
    starts = np.flatnonzero(np.diff(step[order], prepend=-1))
    count = np.maximum(1, np.add.reduceat(~np.isnan(values), starts))
    median = (values[starts + (count - 1) // 2] + values[starts + count // 2]) / 2
    return median, values[starts], values[starts + count - 1]


def draw_drops(
    times: NDArray[np.float64] | pl.Series,
    axes: Axes,
    *,
    titled: bool = True,
    label: tuple[str, str] = ("drop", "drops"),
) -> None:
    """Draw drops as thin lines over the whole height, or, if they would cover the curve, in a strip at the top.

    `label` is the singular and plural of their name. With `titled`, their number is on the right above the axes.
    """
    many = len(times) > MANY_DROPS
    span = (1 - DROP_STRIP, 1.0) if many else (0.0, 1.0)
    marks.events(axes, times, label[1], span=span, colors=muted(), linewidth=thin(0.25), alpha=0.6, zorder=0.5)
    if titled:
        text = f"{len(times)} {label[1]}" if len(times) != 1 else f"1 {label[0]}"
        scales.remark(axes, f"{text} (thin lines)" if len(times) else f"no {label[1]}")


MANY_DROPS = 150
DROP_STRIP = 0.1
"""Share of a panel's height reserved for drops."""
STEPS = 600
"""Maximum number of time steps in a panel."""
