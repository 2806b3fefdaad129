"""The figure kind `totals`: goodput of each direction and pings over time, as Flent's plot of that name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.io.flent.figures import draw_totals, of_results
from sojourn.model.analysis.labels import Name

if TYPE_CHECKING:
    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result


def draw(results: Sequence[Result], names: Sequence[Name], sheet: Sheet) -> None:
    """Draw a panel per direction and one for pings, with a curve per name, for its first seed."""
    draw_totals(of_results(results, names), sheet)
