"""Complementary CDF of sojourn time: its tail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.plots.distribution import distributions, draw_distribution

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.result import Result


def draw(results: Sequence[Result], labels: Sequence[str], figure: Figure) -> None:
    """Fill `figure` with one curve per label."""
    sojourn_ccdf(distributions(results, labels), figure.subplots())


def sojourn_ccdf(table: pl.DataFrame, axes: Axes) -> None:
    """Share of packets that waited longer than so many ms, one curve per value of `label`."""
    draw_distribution(table, axes, tail=True)
    packets = max(int(run["count"].sum()) for _, run in table.group_by("label"))
    axes.set_yscale("log")
    axes.set_ylim(max(1e-6, 1 / packets), 1.1)
    axes.set_ylabel("share of packets that waited longer")
