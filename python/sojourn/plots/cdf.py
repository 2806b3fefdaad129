"""Empirical CDF of sojourn time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.plots.canvas import Span
from sojourn.plots.distribution import distributions, draw_distribution

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.result import Result


def draw(results: Sequence[Result], labels: Sequence[str], figure: Figure) -> None:
    """Fill `figure` with one curve per label."""
    sojourn_cdf(distributions(results, labels), figure.subplots())


def sojourn_cdf(table: pl.DataFrame, axes: Axes) -> list[Span]:
    """Empirical CDF of sojourn time in ms, one curve per value of `label`; give what each spans."""
    spans = draw_distribution(table, axes, tail=False)
    axes.set_ylim(0, 1.01)
    axes.set_ylabel("share of packets")
    return spans
