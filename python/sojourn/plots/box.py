"""Boxes of sojourn time with whiskers at 10 and 90 %, and of throughput or goodput where it was recorded in steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from sojourn.labels import all_of_each
from sojourn.plots.canvas import Span, sojourn_axis
from sojourn.plots.distribution import distributions
from sojourn.stats import quantile
from sojourn.units import seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.result import Result

QUANTILES = {"whislo": 0.1, "q1": 0.25, "med": 0.5, "q3": 0.75, "whishi": 0.9}
Box = dict[str, float]


def draw(results: Sequence[Result], labels: Sequence[str], figure: Figure) -> None:
    """Fill `figure` with a box of sojourn time per label, over all its runs; beside it one of throughput.

    Throughput is per step of the probe `utilisation`; without it goodput per step of the probe `flows`, if all runs
    have that.
    """
    table = distributions(results, labels)
    delays = {label[0]: sojourn_box(run) for label, run in table.group_by("label", maintain_order=True)}
    rates = rate_boxes(results, labels)
    panels = figure.subplots(1, 2 if rates else 1, sharey=True, squeeze=False)[0].tolist()
    figure.set_size_inches(8.0 if rates else 7.0, 1.1 + 0.32 * len(delays))
    draw_boxes(delays, panels[0])
    spans = [Span(box["whislo"], box["med"], box["whishi"]) for box in delays.values()]
    sojourn_axis(panels[0], spans, widen=1.2)
    panels[0].set_xlabel("sojourn time [ms]")
    panels[0].set_title("box: quartiles, whiskers: 10 and 90 %", loc="left", color="0.35", fontsize=7)
    if rates:
        about, boxes = rates
        draw_boxes(boxes, panels[1])
        if min(box["whislo"] for box in boxes.values()) < max(box["whishi"] for box in boxes.values()) / 2:
            panels[1].set_xlim(left=0)  # else boxes that are alike could not be told apart
        panels[1].set_xlabel(f"{about} [Mbit/s]")


def sojourn_box(histogram: pl.DataFrame) -> Box:
    """Quantiles of sojourn time in ms, exact to the width of the histogram's bins."""
    return {name: quantile(histogram, q) or 0.0 for name, q in QUANTILES.items()}


def rate_boxes(results: Sequence[Result], labels: Sequence[str]) -> tuple[str, dict[str, Box]] | None:
    """What is shown beside the delay, and its boxes in Mbit/s; None where not all runs recorded the same."""
    for table, about, rates in (("utilisation", "throughput", throughput), ("flows", "goodput", goodput)):
        if not all(table in result.table_names for result in results):
            continue
        series = {
            label: pl.concat([rates(run) for run in runs]) for label, runs in all_of_each(results, labels).items()
        }
        if all(len(one) for one in series.values()):
            return f"{about} per step", {label: rate_box(one) for label, one in series.items()}
    return None


def rate_box(rates: pl.Series) -> Box:
    """Quantiles of rates in Mbit/s."""
    return {name: float(rates.quantile(q, "linear") or 0.0) for name, q in QUANTILES.items()}


def throughput(result: Result) -> pl.Series:
    """Mbit/s that the forward link sent, per step after the warm-up."""
    table = result.utilisation.filter(pl.col("link") == "forward")
    steps = table.with_columns(start_s=pl.col("time_s").shift(1, fill_value=0.0))
    counted = steps.filter(pl.col("start_s") >= seconds(result.scenario.document["warmup"]) - 1e-9)
    return counted.select(mbps=8e-6 * pl.col("bytes") / (pl.col("time_s") - pl.col("start_s")))["mbps"]


def goodput(result: Result) -> pl.Series:
    """Mbit/s of payload that all forward flows delivered, per step after the warm-up."""
    forward = [flow["id"] for flow in result.totals["flows"] if flow["direction"] == "forward"]
    counted = pl.col("flow").is_in(forward) & (pl.col("time_s") > seconds(result.scenario.document["warmup"]))
    steps = result.flows.filter(counted).group_by("time_s").agg(pl.col("goodput_bps").sum()).sort("time_s")
    return (steps["goodput_bps"] * 1e-6).alias("mbps")


def draw_boxes(boxes: Mapping[str, Box], axes: Axes) -> None:
    """Draw boxes below each other, the first on top, named on the left."""
    stats = [{**box, "fliers": []} for box in boxes.values()]
    axes.bxp(
        stats,
        positions=range(len(stats)),
        orientation="horizontal",
        widths=0.55,
        showfliers=False,
        manage_ticks=False,  # it would add to those of the panel beside it
        patch_artist=True,
        boxprops={"facecolor": "#BFD9EA", "edgecolor": "#0072B2"},
        medianprops={"color": "black", "linewidth": 1.5},
        whiskerprops={"color": "#0072B2"},
        capprops={"color": "#0072B2"},
    )
    axes.set_yticks(range(len(stats)), list(boxes))
    axes.grid(visible=False, axis="y")
    axes.set_ylim(len(stats) - 0.4, -0.6)
