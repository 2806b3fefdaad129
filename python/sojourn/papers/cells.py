"""Operations on a figure's cells, one row per run: splitting by replication, drawing lines over a parameter."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.figures import marks
from sojourn.model.analysis.stats import sample_ci

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def by_seed(cells: pl.DataFrame) -> list[pl.DataFrame]:
    """The cells of each replication."""
    return [one for _, one in cells.group_by("seed", maintain_order=True)]


def draw_line(
    axes: Axes, cells: pl.DataFrame, x: str, value: str, /, *, scale: float = 1.0, label: str = "", **style: Any
) -> None:
    """Draw the mean of a column, times `scale`, over another one, with 95 % confidence intervals over the seeds."""
    groups = sorted((key[0], group[value].to_list()) for key, group in cells.group_by(x))
    points = [sample_ci(values) for _, values in groups]
    means = [scale * mean for mean, _ in points]
    halves = [nan if half is None else scale * half for _, half in points]  # no bar without variation
    look = {"ms": 3.5, "capsize": 1.5, "linewidth": 1.0} | style
    marks.line(axes, [at for at, _ in groups], means, label, half=halves, **look)
