"""Figure kinds by name: adding one is a file here and a line in `KINDS`.

A kind's module has a function `draw(results, labels, figure)` that fills an empty matplotlib figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.result import Result

KINDS = {
    "timeseries": ("sojourn.plots.timeseries", "sojourn time of every packet over time, drops as thin vertical lines"),
    "cdf": ("sojourn.plots.cdf", "share of packets that waited at most so long"),
    "ccdf": ("sojourn.plots.ccdf", "share of packets that waited longer, on a logarithmic axis for the tail"),
}


class Draw(Protocol):
    """What a figure kind is."""

    def __call__(self, results: Sequence[Result], labels: Sequence[str], figure: Figure) -> None:
        """Fill `figure` with `results`, named by `labels`."""


def kind(name: str) -> Draw:
    """Drawing function of a figure kind; refused with the nearest name if there is none such."""
    if name not in KINDS:
        from sojourn.errors import unknown

        raise unknown("figure kind", name, list(KINDS))
    draw: Draw = import_module(KINDS[name][0]).draw
    return draw
