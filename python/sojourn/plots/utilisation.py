"""Utilisation and delay against a swept parameter, one line per load or queue manager."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.labels import by_aqm
from sojourn.metrics import Metric
from sojourn.plots.canvas import LINEAR_RATIO, named_curves, number_axis, shared_legend
from sojourn.swept import aqm_without, choose, means, metric_of, rest_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.result import Result


def draw(
    results: Sequence[Result],
    labels: Sequence[str],
    figure: Figure,
    x: str | None = None,
    metric: str = "sojourn_mean_ms",
) -> None:
    """Fill `figure` with utilisation above and `metric` below, means over seeds with their 95 % intervals.

    Lines are named by what runs differ in beside the parameter, not by `labels`.
    """
    [parameter] = choose(results, [x])
    metrics = [metric_of(results, column) for column in ("utilisation", metric)]
    names = rest_labels(results, [parameter])
    columns = list(dict.fromkeys(one.column for one in metrics))
    table = means(results, {"label": names, "x": parameter.shown}, columns)
    groups = by_aqm(names, [aqm_without(result, [parameter]) for result in results], MANY_LINES)
    figure.set_size_inches(max(7.0, 1.0 + 2.4 * len(groups)), 5.0)
    rows = figure.subplots(2, len(groups), sharex=True, sharey="row", squeeze=False)
    styles = named_curves(name for own in groups.values() for name in own.values())
    for one, panels in zip(metrics, rows, strict=True):
        for own, axes in zip(groups.values(), panels, strict=True):
            for label, name in own.items():
                curve = {"marker": MARKERS[list(styles).index(name) % len(MARKERS)], **styles[name]}
                draw_line(table.filter(pl.col("label") == label), one, axes, label=name, **curve)
        fit_axis(table[one.column] * one.scale, panels[0])
        panels[0].set_ylabel(one.axis_label)
    for title, axes in zip(groups, rows[0], strict=True):
        axes.set_title(title, loc="left", fontweight="bold", pad=3)
    for axes in rows[1]:
        number_axis(axes, table["x"].unique().sort().to_list())
        axes.set_xlabel(parameter.label)
    shared_legend(figure, rows.ravel().tolist())
    if table[f"{metrics[0].column}_ci95"].is_not_null().any():
        note = "mean over seeds, bars: 95 % confidence interval"
        rows[1][-1].set_title(note, loc="right", color="0.35", fontsize=7, pad=3)


def draw_line(table: pl.DataFrame, metric: Metric, axes: Axes, **options: Any) -> None:
    """Draw a metric over `x` with the bars of its confidence interval."""
    line = table.filter(pl.col(metric.column).is_not_null()).sort("x")
    values, bars = line[metric.column] * metric.scale, line[f"{metric.column}_ci95"].fill_null(0) * metric.scale
    axes.errorbar(line["x"], values, yerr=bars, markersize=4, capsize=2.5, **options)


def fit_axis(values: pl.Series, axes: Axes) -> None:
    """Begin the vertical axis at zero, but where values are alike or spread over decades as they need it."""
    numbers = values.drop_nulls().to_list() or [0.0]
    low, high = min(numbers), max(numbers)
    if low > 0 and high / low > LINEAR_RATIO:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    elif low < high / 2:
        axes.set_ylim(bottom=0)


MANY_LINES = 6
"""More lines than this are drawn apart, by queue manager."""
MARKERS = "os^Dv*P"
"""Besides colour and line style, so that points without a line can be told apart too."""
