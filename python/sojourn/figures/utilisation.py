"""Utilisation and delay against a swept parameter, one line per queue manager and load."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.figures import marks, scales
from sojourn.figures.channels import Channels, facets
from sojourn.figures.scales import plain
from sojourn.model.analysis.labels import Name
from sojourn.model.analysis.metrics import Metric
from sojourn.model.analysis.swept import Parameter, choose, means, metric_of, rest_names
from sojourn.model.analysis.warmup import mark_unsettled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result


def draw(
    results: Sequence[Result],
    names: Sequence[Name],
    sheet: Sheet,
    x: str | None = None,
    metric: str = "sojourn_mean_ms",
) -> None:
    """Fill `sheet` with utilisation above and `metric` below, means over seeds with their 95 % intervals.

    Lines are named after the differences between runs beside the parameter, not by `names`. If the parameter has one
    value, there is a point per queue manager instead.
    """
    [parameter] = choose(results, [x])
    metrics = [metric_of(results, column) for column in dict.fromkeys(("utilisation", metric))]
    rest = mark_unsettled(rest_names(results, [parameter]), results)
    table = means(
        results, {"name": [str(name) for name in rest], "x": parameter.shown}, [one.column for one in metrics]
    )
    if not parameter.varies:
        _draw_points(table, list(dict.fromkeys(rest)), parameter, metrics, sheet)
    else:
        _draw_lines(table, list(dict.fromkeys(rest)), parameter, metrics, sheet)
    if table[f"{metrics[0].column}_ci95"].is_not_null().any():
        sheet.note("mean over seeds, bars: 95 % confidence interval")


def _draw_lines(
    table: pl.DataFrame, names: Sequence[Name], parameter: Parameter, metrics: Sequence[Metric], sheet: Sheet
) -> None:
    groups = facets(names)
    panels = sheet.blocks(len(groups), len(metrics), height=1.6)
    channels = Channels(label for group in groups.values() for label in group.values())
    for one, row in zip(metrics, panels, strict=True):
        for group, axes in zip(groups.values(), row, strict=True):
            for name, label in group.items():
                draw_line(table.filter(pl.col("name") == str(name)), one, axes, str(label), **channels.marked(label))
            fit(table, one, axes)
        for axes in sheet.left_of(row):
            axes.set_ylabel(one.axis_label)
    for load, axes in zip(groups, panels[0], strict=True):
        if load:
            scales.title(axes, load)
    for axes in panels[-1]:
        scales.number_axis(axes, table["x"].unique().sort().to_list())
    for axes in sheet.bottom:
        axes.set_xlabel(parameter.label)
    sheet.legend(channels.legend(marked=True))


def _draw_points(
    table: pl.DataFrame, names: Sequence[Name], parameter: Parameter, metrics: Sequence[Metric], sheet: Sheet
) -> None:
    """Draw a point per name, side by side, and note that there is no line to draw."""
    panels = sheet.blocks(1, len(metrics), height=1.6)[:, 0]
    channels = Channels(names)
    for one, axes in zip(metrics, panels, strict=True):
        for place, name in enumerate(names):
            own = table.filter(pl.col("name") == str(name)).with_columns(x=pl.lit(float(place)))
            draw_line(own, one, axes, str(name), **channels.marked(name))
            if (value := own[one.column][0]) is not None:
                text = one.show(value)
                axes.annotate(text, (place, value * one.scale), (6, 4), textcoords="offset points")
        fit(table, one, axes)
        axes.set_ylabel(one.axis_label)
    panels[-1].set_xticks(range(len(names)), [str(name) for name in names])
    panels[-1].set_xlim(-0.6, len(names) - 0.4)
    text = "one point per curve" if len(names) > 1 else "one point"
    key = f"{parameter.path} is {plain(parameter.shown[0])} {parameter.display[1]}".strip()
    sheet.note(f"{text}: {key} in all results; sweep it, or name another key with --x")


def draw_line(table: pl.DataFrame, metric: Metric, axes: Axes, name: str, **look: Any) -> None:
    """Draw a metric over `x` with the bars of its confidence interval."""
    line = table.filter(pl.col(metric.column).is_not_null()).sort("x")
    values, half = line[metric.column] * metric.scale, line[f"{metric.column}_ci95"].cast(float) * metric.scale
    # No interval means no bar, not a bar of zero length.
    known = None if half.is_null().all() else half.fill_null(nan).to_numpy()
    marks.line(axes, line["x"].to_numpy(), values.to_numpy(), name, half=known, **look)


def fit(table: pl.DataFrame, metric: Metric, axes: Axes) -> None:
    """Scale the vertical axis to all values of a metric with their intervals."""
    known = table.filter(pl.col(metric.column).is_not_null())
    values, half = known[metric.column] * metric.scale, known[f"{metric.column}_ci95"].fill_null(0) * metric.scale
    ends = [*(values - half).to_list(), *(values + half).to_list()]
    low = min(values.to_list(), default=0.0)
    ends = [max(end, 0.0) if low >= 0 else end for end in ends]
    scales.fit_axis(axes, ends, whole=metric.whole)
