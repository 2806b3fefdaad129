"""Complementary CDF of sojourn time: its tail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.figures.distribution import distributions, draw_tiles, format_ccdf_axes

if TYPE_CHECKING:
    from sojourn.figures.canvas import Sheet
    from sojourn.model.analysis.labels import Name
    from sojourn.model.results.result import Result


def draw(results: Sequence[Result], names: Sequence[Name], sheet: Sheet) -> None:
    """Fill `sheet` with one curve per name; many names are split into a panel for each load."""
    packets = max(int(histogram["count"].sum()) for histogram in distributions(results, names).values())
    format_ccdf_axes(draw_tiles(results, names, sheet, tail=True), packets, sheet)
