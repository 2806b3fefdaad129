"""Boxes of sojourn time with whiskers at 10 and 90 %, and of throughput or goodput if it was recorded in steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from sojourn.figures import marks
from sojourn.figures.channels import Channels
from sojourn.figures.distribution import Histogram, distributions
from sojourn.figures.scales import MIN_SPREAD, Span, sojourn_axis
from sojourn.model.analysis.labels import Name, all_of_each
from sojourn.model.analysis.stats import quantile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result

QUANTILES = {"whislo": 0.1, "q1": 0.25, "med": 0.5, "q3": 0.75, "whishi": 0.9}
Box = dict[str, float]


def draw(results: Sequence[Result], names: Sequence[Name], sheet: Sheet) -> None:
    """Fill `sheet` with a box of sojourn time per name, over all its runs; beside it one of throughput.

    Throughput is per step of the probe `utilisation`; without it goodput per step of the probe `flows`, if all runs
    have that.
    """
    delays = {name: sojourn_box(run) for name, run in distributions(results, names).items()}
    rates = rate_boxes(results, names)
    count = 2 if rates else 1
    columns = count if sheet.width(8.0) >= BESIDE_IN else 1
    panels = sheet.panels(
        count // columns,
        columns,
        width=8.0 if rates else 7.0,
        height=0.5 + 0.3 * len(delays),
        text=True,
        sharex=False,
        sharey=True,
    ).ravel()
    draw_boxes(delays, panels[0])
    spans = [Span(box["whislo"], box["med"], box["whishi"]) for box in delays.values()]
    sojourn_axis(panels[0], spans, widen=1.2)
    panels[0].set_xlabel("sojourn time [ms]")
    if rates:
        about, boxes = rates
        draw_boxes(boxes, panels[1])
        _fit(panels[1], boxes)
        panels[1].set_xlabel(f"{about} [Mbit/s]")
    sheet.note("box: quartiles, whiskers: 10 and 90 %")


def sojourn_box(histogram: Histogram) -> Box:
    """Quantiles of sojourn time in ms, exact to the width of the histogram's bins."""
    return {name: quantile(histogram, q) or 0.0 for name, q in QUANTILES.items()}


def rate_boxes(results: Sequence[Result], names: Sequence[Name]) -> tuple[str, dict[Name, Box]] | None:
    """Label and boxes, in Mbit/s, of the panel beside the delay; None unless all runs recorded the same quantity."""
    for table, about, rates in (("utilisation", "throughput", throughput), ("flows", "goodput", goodput)):
        if not all(table in result.table_names for result in results):
            continue
        series = {name: pl.concat([rates(run) for run in runs]) for name, runs in all_of_each(results, names).items()}
        if all(len(one) for one in series.values()):
            return f"{about} per step", {name: rate_box(one) for name, one in series.items()}
    return None


def rate_box(rates: pl.Series) -> Box:
    """Quantiles of rates in Mbit/s."""
    return {name: float(rates.quantile(q, "linear") or 0.0) for name, q in QUANTILES.items()}


def throughput(result: Result) -> pl.Series:
    """Rate of the forward link in Mbit/s, per step after the warm-up."""
    table = result.utilisation.filter(pl.col("link") == result.link)
    steps = table.with_columns(start_s=pl.col("time_s").shift(1, fill_value=0.0))
    counted = steps.filter(pl.col("start_s") >= result.warmup_s - 1e-9)
    return counted.select(mbps=8e-6 * pl.col("bytes") / (pl.col("time_s") - pl.col("start_s")))["mbps"]


def goodput(result: Result) -> pl.Series:
    """Goodput of all forward flows in Mbit/s, per step after the warm-up."""
    forward = [flow["id"] for flow in result.totals["flows"] if flow["direction"] == "forward"]
    counted = pl.col("flow").is_in(forward) & (pl.col("time_s") > result.warmup_s)
    steps = result.flows.filter(counted).group_by("time_s").agg(pl.col("goodput_bps").sum()).sort("time_s")
    return (steps["goodput_bps"] * 1e-6).alias("mbps")


def draw_boxes(boxes: Mapping[Name, Box], axes: Axes) -> None:
    """Draw boxes below each other, the first on top, labelled on the left; a colour per queue manager."""
    channels = Channels(boxes)
    places = [str(name) for name in boxes]
    colors = [channels.color(name) for name in boxes]
    marks.boxes(axes, places, list(boxes.values()), range(len(boxes)), colors=colors)
    axes.set_yticks(range(len(boxes)), places)
    axes.grid(visible=False, axis="y")
    axes.set_ylim(len(boxes) - 0.4, -0.6)


def _fit(axes: Axes, boxes: Mapping[Name, Box]) -> None:
    """Start the axis at zero, unless the boxes differ too little to be distinguished."""
    low, high = min(box["whislo"] for box in boxes.values()), max(box["whishi"] for box in boxes.values())
    if low < high / 2 or high - low <= MIN_SPREAD * high:
        axes.set_xlim(left=0)


BESIDE_IN = 5.0
"""Narrower figures stack the panels."""
