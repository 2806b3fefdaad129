"""The paper's form: boxes (quartiles) with whiskers at the 10th and 90th percentile, groups side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.selectors import numeric

from sojourn.figures import marks
from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUANTITIES = {
    "p": "queueing delay [ms]",
    "r": "RTT [ms]",
    "t": "RTT from the driver on [ms]",
    "g": "goodput of 5 s [Mb/s]",
}
"""Prefix of the quantiles' columns, and the label of the axis."""


def box_figure(
    cells: pl.DataFrame,
    quantities: Sequence[str],
    *,
    x: str,
    x_label: str,
    group: str,
    group_label: str = "{}",
    panel: str | None = None,
    panel_label: str = "{}",
) -> Figure:
    """A row of panels per quantity, a panel per value of `panel`; without it the quantities are side by side.

    Quantiles are those of the single runs, averaged, as the paper prints averages.
    """
    parts = [("", cells)] if panel is None else _parts(cells, panel, panel_label)
    rows, columns = (len(quantities), len(parts)) if panel else (1, len(quantities))
    with style():
        figure = new_figure(3.4 * max(columns, 2), 3.2 * rows + 0.4)
        grid = figure.subplots(rows, columns, squeeze=False)
        for place, axes in enumerate(grid.flat):
            row, column = divmod(place, columns)
            quantity = quantities[row if panel else column]
            title, chosen = parts[column if panel else 0]
            _draw_panel(axes, chosen, quantity, x, group, group_label)
            axes.set_title(title, loc="left", fontweight="bold")
            axes.set_xlabel(x_label)
            if column == 0 or not panel:
                axes.set_ylabel(QUANTITIES[quantity])
        for row, quantity in zip(grid, quantities, strict=False):
            if panel and quantity == "g":
                _same_scale(row)
        legend(figure)
        return figure


def _parts(cells: pl.DataFrame, panel: str, label: str) -> list[tuple[str, pl.DataFrame]]:
    groups = cells.group_by(panel, maintain_order=True)
    return [(label.format(_plain(value)), chosen) for (value,), chosen in groups]


def _same_scale(row: Iterable[Axes]) -> None:
    """Share one scale: goodputs of all loads are comparable; alone, a saturated link's noise would fill its panel."""
    limits = [axes.get_ylim() for axes in row]
    for axes in row:
        axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _draw_panel(axes: Axes, cells: pl.DataFrame, quantity: str, x: str, group: str, label: str) -> None:
    groups = cells[group].unique(maintain_order=True).to_list()
    values = sorted(cells[x].unique().to_list())
    step = 0.8 / len(groups)
    for place, (name, curve) in enumerate(zip(groups, curves(len(groups)), strict=True)):
        own = cells.filter(pl.col(group) == name).group_by(x).agg(numeric().mean()).sort(x)
        at = [values.index(value) + (place - (len(groups) - 1) / 2) * step for value in own[x]]
        found = [_box(row, quantity) for row in own.iter_rows(named=True)]
        places, colors = [_plain(value) for value in own[x]], [curve["color"]] * len(at)
        called = label.format(_plain(name))
        marks.boxes(axes, places, found, at, called, colors=colors, upright=True, widths=0.8 * step)
    axes.set_xticks(range(len(values)), [_plain(value) for value in values])
    axes.set_xlim(-0.6, len(values) - 0.4)
    axes.grid(visible=False, axis="x")
    if quantity != "g":
        axes.set_ylim(bottom=0)


def _box(row: dict[str, Any], quantity: str) -> dict[str, Any]:
    names = {"whislo": 10, "q1": 25, "med": 50, "q3": 75, "whishi": 90}
    return {name: row[f"{quantity}{percent}"] for name, percent in names.items()}


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
