"""Empirical CDF of sojourn time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.figures.distribution import draw_tiles, format_cdf_axes

if TYPE_CHECKING:
    from sojourn.figures.canvas import Sheet
    from sojourn.model.analysis.labels import Name
    from sojourn.model.results.result import Result


def draw(results: Sequence[Result], names: Sequence[Name], sheet: Sheet) -> None:
    """Fill `sheet` with one curve per name; many names are split into a panel for each load."""
    format_cdf_axes(draw_tiles(results, names, sheet, tail=False), sheet)
