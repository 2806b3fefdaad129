"""Sojourn time over time, one panel per run, with drops as thin vertical lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.base.errors import InputError
from sojourn.figures import marks, scales
from sojourn.figures.channels import Channels, muted, thin
from sojourn.figures.scales import Span, plain, sojourn_axis
from sojourn.figures.warmup import shade_warmups
from sojourn.model.analysis.labels import Name, first_of_each
from sojourn.model.analysis.packets import dropped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result


def draw(results: Sequence[Result], names: Sequence[Name], sheet: Sheet) -> None:
    """Fill `sheet` with one panel per name, for its first seed; the panels share both axes."""
    shown = first_of_each(results, names)
    panels = sheet.panels(len(shown), height=1.4)[:, 0]
    draw_panels({name: forward_packets(result) for name, result in shown.items()}, panels.tolist())
    panels[-1].set_xlabel("time [s]")
    for axes in panels:
        axes.set_xlim(0, max(result.duration_s for result in shown.values()))
    shade_warmups(panels, [[result] for result in shown.values()], sheet)
    duration = max(result.duration_s for result in shown.values())
    note_bands([forward_packets(result) for result in shown.values()], duration, sheet)


def note_bands(tables: Sequence[pl.DataFrame], duration: float, sheet: Sheet) -> None:
    """Add a note that explains line and band of `draw_series`, if there is a band."""
    if any(table.height > 2 * STEPS for table in tables):
        sheet.note(f"line: median of {plain(float(f'{1000 * duration / STEPS:.3g}'))} ms, band: lowest to highest")


def forward_packets(result: Result) -> pl.DataFrame:
    """Packets of the forward link, sent and dropped."""
    packets = result.packets.filter(pl.col("link") == result.link)
    if packets.is_empty():
        raise InputError(f"{result.folder or result}: no packet passed the link; give a longer duration")
    return packets


def draw_panels(runs: dict[Name, pl.DataFrame], panels: Sequence[Axes]) -> None:
    """Draw one run per panel, on a common axis of sojourn time."""
    channels = Channels(runs)
    spans = []
    for (name, packets), axes in zip(runs.items(), panels, strict=True):
        spans.append(sojourn_series(packets, axes, color=channels.color(name)))
        scales.title(axes, str(name), color=channels.color(name) if len(runs) > 1 else None)
        axes.set_ylabel("sojourn [ms]")
    for axes in panels:
        sojourn_axis(axes, spans, which="y", headroom=DROP_STRIP)


def sojourn_series(packets: pl.DataFrame, axes: Axes, **look: Any) -> Span:
    """Draw the sojourn time in ms over time in s and a line per drop; return the span of the sojourn times."""
    sent = packets.filter(~dropped())
    draw_series(sent, "sojourn_ms", axes, **look)
    draw_drops(packets.filter(dropped())["time_s"], axes)
    low, median, high = (sent["sojourn_ms"].quantile(q) or 0.0 for q in (0.02, 0.5, 1.0))
    return Span(low, median, high)


def draw_series(table: pl.DataFrame, value: str, axes: Axes, *, name: str = "", **look: Any) -> None:
    """Draw every `value` over `time_s`; with many rows the median and range per step, which keeps files small."""
    if table.height <= 2 * STEPS:
        marks.line(axes, table["time_s"], table[value], name, **{"linewidth": thin(), **look})
        return
    time, values = pl.col("time_s"), pl.col(value)
    step = ((time - time.min()) / (time.max() - time.min()) * STEPS).cast(pl.Int64)
    spans = table.group_by(step.alias("step")).agg(
        time.median(), low=values.min(), median=values.median(), high=values.max()
    )
    spans = spans.sort("step")
    marks.band(axes, spans["time_s"], spans["low"], spans["high"], color=look.get("color"), alpha=0.35)
    marks.line(axes, spans["time_s"], spans["median"], name, **{"linewidth": thin(), **look})


def draw_drops(
    times: pl.Series, axes: Axes, *, titled: bool = True, label: tuple[str, str] = ("drop", "drops")
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
