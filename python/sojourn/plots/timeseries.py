"""Sojourn time over time, one panel per run, with drops as thin vertical lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.errors import InputError
from sojourn.labels import first_of_each
from sojourn.packets import dropped
from sojourn.plots.canvas import Span, curves, sojourn_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.result import Result


def draw(results: Sequence[Result], labels: Sequence[str], figure: Figure) -> None:
    """Fill `figure` with one panel per label, for its first seed; the panels share both axes."""
    shown = first_of_each(results, labels)
    figure.set_size_inches(7.0, 1.2 + 1.3 * len(shown))
    panels = figure.subplots(len(shown), 1, sharex=True, sharey=True, squeeze=False)[:, 0].tolist()
    draw_panels([forward_packets(result) for result in shown.values()], list(shown), panels)
    panels[-1].set_xlabel(time_label(list(shown.values())))
    panels[-1].set_xlim(0, max(result.duration_s for result in shown.values()))


def time_label(results: Sequence[Result]) -> str:
    """Label of the time axis, which also says what line and band are where there is a band."""
    duration = max(result.duration_s for result in results)
    return series_label([forward_packets(result) for result in results], duration)


def series_label(tables: Sequence[pl.DataFrame], duration_s: float) -> str:
    """Label of the time axis of what `draw_series` draws."""
    banded = any(table.height > 2 * STEPS for table in tables)
    note = f"   (line: median of {1000 * duration_s / STEPS:.3g} ms, band: lowest to highest)" if banded else ""
    return f"time [s]{note}"


def forward_packets(result: Result) -> pl.DataFrame:
    """Packets of the forward link, sent and dropped."""
    packets = result.packets.filter(pl.col("link") == "forward")
    if packets.is_empty():
        raise InputError(f"{result.folder or result}: no packet came through the link; give a longer duration")
    return packets


def draw_panels(runs: Sequence[pl.DataFrame], labels: Sequence[str], panels: Sequence[Axes]) -> None:
    """Draw one run per panel, on a common axis of sojourn time."""
    spans = []
    for packets, label, axes, curve in zip(runs, labels, panels, curves(len(runs)), strict=True):
        spans.append(sojourn_series(packets, axes, color=curve["color"]))
        axes.set_title(label, loc="left", color=curve["color"], fontweight="bold", pad=3)
        axes.set_ylabel("sojourn [ms]")
    sojourn_axis(panels[0], spans, which="y", headroom=DROP_STRIP)


def sojourn_series(packets: pl.DataFrame, axes: Axes, **options: Any) -> Span:
    """Sojourn time of sent packets in ms over time in s and a line per drop; give the span of the sojourn times."""
    sent = packets.filter(~dropped())
    draw_series(sent, "sojourn_ms", axes, **options)
    draw_drops(packets.filter(dropped())["time_s"], axes)
    low, median, high = (sent["sojourn_ms"].quantile(q) or 0.0 for q in (0.02, 0.5, 1.0))
    return Span(low, median, high)


def draw_series(table: pl.DataFrame, value: str, axes: Axes, **options: Any) -> None:
    """Every `value` over `time_s` where they can be told apart; else the median over the span of many: a small file."""
    if table.height <= 2 * STEPS:
        axes.plot(table["time_s"], table[value], linewidth=0.8, **options)
        return
    time, values = pl.col("time_s"), pl.col(value)
    step = ((time - time.min()) / (time.max() - time.min()) * STEPS).cast(pl.Int64)
    spans = table.group_by(step.alias("step")).agg(
        time.median(), low=values.min(), median=values.median(), high=values.max()
    )
    spans = spans.sort("step")
    band = {key: option for key, option in options.items() if key == "color"}
    axes.fill_between(spans["time_s"], spans["low"], spans["high"], alpha=0.35, linewidth=0, **band)
    axes.plot(spans["time_s"], spans["median"], linewidth=0.8, **options)


def draw_drops(times: pl.Series, axes: Axes, *, titled: bool = True) -> None:
    """Thin lines over the whole height, or, where they would cover the curve, in a strip at the top.

    With `titled`, how many there are stands on the right above the axes.
    """
    many = len(times) > MANY_DROPS
    low, high = (1 - DROP_STRIP, 1.0) if many else (0.0, 1.0)
    axes.vlines(
        times, low, high, transform=axes.get_xaxis_transform(), colors="0.35", linewidth=0.3, alpha=0.6, zorder=0.5
    )
    if titled:
        text = f"{len(times)} drops" if len(times) != 1 else "1 drop"
        text = f"{text} (thin lines)" if len(times) else "no drops"
        axes.set_title(text, loc="right", color="0.35", fontsize=7, pad=3)


MANY_DROPS = 150
DROP_STRIP = 0.1
"""Share of a panel's height that is kept for drops."""
STEPS = 600
"""Steps of time that a panel can show side by side."""
