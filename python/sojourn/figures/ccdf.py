"""Complementary CDF of sojourn time: its tail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.figures.distribution import distributions, draw_tiles

if TYPE_CHECKING:
    from sojourn.analysis.labels import Name
    from sojourn.figures.canvas import Sheet
    from sojourn.results.result import Result


def draw(results: Sequence[Result], names: Sequence[Name], sheet: Sheet) -> None:
    """Fill `sheet` with one curve per name; of many names, in a panel for each load."""
    packets = max(int(histogram["count"].sum()) for histogram in distributions(results, names).values())
    for axes in draw_tiles(results, names, sheet, tail=True):
        axes.set_yscale("log")
        axes.set_ylim(max(1e-6, 1 / packets), 1.1)
    for axes in sheet.left:
        axes.set_ylabel("share that waited longer")
