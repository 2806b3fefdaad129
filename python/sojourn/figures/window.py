"""Drop patterns: delay of consecutive packets in a short window, drops as vertical lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from sojourn.base.errors import InputError
from sojourn.base.units import seconds
from sojourn.figures import marks, scales
from sojourn.figures.channels import areas, thin
from sojourn.figures.scales import plain
from sojourn.figures.warmup import shade_warmups
from sojourn.model.analysis.labels import Name, first_of_each
from sojourn.model.analysis.packets import between, packets

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result


def draw(
    results: Sequence[Result],
    names: Sequence[Name],
    sheet: Sheet,
    from_s: float | None = None,
    to_s: float | None = None,
) -> None:
    """Fill `sheet` with one panel per name, for its first seed; they share the axis of time.

    Default `from_s`: the middle of the shortest run; default `to_s`: a second later.
    """
    shown = first_of_each(results, names)
    duration = min(result.duration_s for result in shown.values())
    start = duration / 2 if from_s is None else from_s
    end = min(start + 1, duration) if to_s is None else to_s
    check_span(start, end, duration)
    panels = sheet.panels(len(shown), height=1.4, sharey=False)[:, 0]
    targets = {target_of(result) for result in shown.values()} - {None}
    for (name, result), axes in zip(shown.items(), panels, strict=True):
        draw_window(between(packets(result), start, end), start, end, axes, target_ms=target_of(result))
        scales.title(axes, str(name))
        axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
        axes.set_ylabel("sojourn [ms]")
    panels[-1].set_xlabel("time [s]")
    shade_warmups(panels, [[result] for result in shown.values()], sheet)
    sheet.figure.align_ylabels(panels.tolist())
    if targets:
        sheet.note(f"dotted: target, {' or '.join(plain(one) for one in sorted(filter(None, targets)))} ms")


def check_span(start_s: float, end_s: float, duration_s: float) -> None:
    """Raise `InputError` for a span of time that is empty or not within a run."""
    if not start_s < end_s <= duration_s:
        middle = duration_s / 2
        remedy = f"choose a window such as --from {middle:g} --to {min(middle + 1, duration_s):g}"
        raise InputError(f"--from {start_s:g} --to {end_s:g}: outside of a run of {duration_s:g} s; {remedy}")


def draw_window(
    window: pl.DataFrame, start_s: float, end_s: float, axes: Axes, *, target_ms: float | None = None
) -> None:
    """Draw the delay of consecutive packets over time, a line over the whole height per drop, and the target."""
    sent, dropped = (window.filter(~pl.col("dropped")), window.filter("dropped"))
    of_packets, of_drops = areas(0, 1)
    marks.events(axes, dropped["time_s"], "drops", colors=of_drops, linewidth=thin(0.4), zorder=0.5)
    marks.line(axes, sent["time_s"], sent["sojourn_ms"], color=of_packets, linewidth=thin())
    if target_ms is not None:
        marks.reference(axes, target_ms, "target")
    axes.set_xlim(start_s, end_s)
    count = f"{dropped.height} drops" if dropped.height != 1 else "1 drop"
    scales.remark(axes, f"{count} (vertical lines)" if dropped.height else "no drops")


def target_of(result: Result) -> float | None:
    """The queue manager's target in ms, if it has one; None for a log."""
    target = None if result.is_log else result.setup["aqm"].get("target")
    return 1e3 * seconds(target) if target else None
