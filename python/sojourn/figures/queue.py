"""Queue length over time, in packets, bytes, or ms of sojourn time: one panel per name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from sojourn import _core
from sojourn.base.errors import InputError, unknown
from sojourn.figures import marks, scales
from sojourn.figures.channels import Channels
from sojourn.figures.scales import plain
from sojourn.figures.timeseries import draw_series, forward_packets, note_bands
from sojourn.figures.warmup import shade_warmups
from sojourn.model.analysis.labels import Name, first_of_each
from sojourn.model.analysis.packets import dropped

if TYPE_CHECKING:
    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result

UNITS = {"packets": "queue [packets]", "bytes": "queue [kB]", "ms": "sojourn [ms]"}
"""Label of the axis, by unit."""


def draw(results: Sequence[Result], names: Sequence[Name], sheet: Sheet, unit: str = "packets") -> None:
    """Fill `sheet` with a panel per name, for its first seed; the panels share both axes.

    `unit` is "packets" or "bytes" in the queue, without the packet in transmission, or "ms", the sojourn time of the
    packet whose transmission started last.
    """
    if unit not in UNITS:
        raise unknown("--unit: unit", unit, list(UNITS))
    shown = first_of_each(results, names)
    lengths = {name: length_of(result, unit) for name, result in shown.items()}
    panels = sheet.panels(len(shown), height=1.5)[:, 0].tolist()
    channels = Channels(lengths)
    for (name, table), axes in zip(lengths.items(), panels, strict=True):
        draw_series(table, "value", axes, name=unit, color=channels.color(name), drawstyle="steps-post")
        scales.title(axes, str(name), color=channels.color(name) if len(shown) > 1 else None)
        axes.set_ylabel(UNITS[unit])
    most = max(float(table["value"].max() or 0.0) for table in lengths.values())  # type: ignore[arg-type]
    limits = {limit_of(result, unit) for result in shown.values()}
    [limit] = limits if len(limits) == 1 else {None}
    if limit is not None and limit <= 2 * most:
        for axes in panels:
            marks.reference(axes, limit, "limit")
        sheet.note(f"dotted: limit of the queue, {plain(limit)} {'kB' if unit == 'bytes' else unit}")
        most = max(most, limit)
    duration = max(result.duration_s for result in shown.values())
    for axes in panels:
        axes.set_xlim(0, duration)
        axes.set_ylim(0, 1.05 * (most or 1.0))
    panels[-1].set_xlabel("time [s]")
    shade_warmups(panels, [[result] for result in shown.values()], sheet)
    sheet.figure.align_ylabels(panels)
    note_bands([table.height for table in lengths.values()], duration, sheet)


def length_of(result: Result, unit: str) -> pl.DataFrame:
    """Length of the link's queue over time: `time_s` and `value`, from the probe `queue`, else from every packet."""
    if "queue" not in result.table_names:
        if "packets" not in result.table_names:
            return result.queue  # raises with the probe to enable
        return _from_packets(result, unit)
    samples = result.queue.filter(pl.col("link") == result.link)
    if samples.is_empty():
        raise InputError(f"{result.folder or result}: the run has no sample of the queue; give a longer duration")
    value = {"packets": pl.col("packets"), "bytes": pl.col("bytes") / 1e3, "ms": pl.col("last_sojourn_ns") / 1e6}[unit]
    return samples.select("time_s", value=value.cast(pl.Float64))


def _from_packets(result: Result, unit: str) -> pl.DataFrame:
    """Length at every arrival and departure."""
    packets = forward_packets(result)
    if unit == "ms":
        sent = packets.filter(~dropped())
        return sent.select("time_s", value=pl.col("sojourn_ms").cast(pl.Float64))
    size = pl.lit(1.0) if unit == "packets" else pl.col("bytes") / 1e3
    # Logs do not contain the waiting time of drops: these count as drops on arrival.
    arrival = (pl.col("time_s") - pl.col("sojourn_ms").fill_null(0.0) / 1e3).clip(lower_bound=0.0)
    waiting = result.waiting.filter(pl.col("link") == result.link)
    changes = pl.concat(
        [
            packets.select(arrival.alias("time_s"), change=size),
            waiting.select("time_s", change=size),
            packets.select("time_s", change=-size),
        ]
    )
    lengths = changes.group_by("time_s").agg(pl.col("change").sum()).sort("time_s")
    return lengths.select("time_s", value=pl.col("change").cum_sum().clip(lower_bound=0.0))


def limit_of(result: Result, unit: str) -> float | None:
    """The queue's limit in packets or kB; None for another kind of limit, and for a log."""
    if result.is_log or unit == "ms":
        return None
    limits = result.setup["limit"]
    for text in [limits] if isinstance(limits, str) else limits:
        if unit == "packets" and (match := re.fullmatch(r"(\d+) packets?", text)):
            return float(match[1])
        if unit == "bytes" and not re.search(r"packet|unlimited|s$", text):
            return int(_core.size_bytes(text)) / 1e3
    return None
