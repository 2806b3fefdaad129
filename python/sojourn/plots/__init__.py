"""Figure kinds by name: adding one is a file here and a line in `KINDS`.

A kind's module has a function `draw(results, labels, figure)` that fills an empty matplotlib figure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.result import Result

KINDS = {
    "timeseries": ("sojourn.plots.timeseries", "sojourn time of every packet over time, drops as thin vertical lines"),
    "cdf": ("sojourn.plots.cdf", "share of packets that waited at most so long"),
    "state": ("sojourn.plots.state", "state variables of the queue managers over time, drops as thin vertical lines"),
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


def with_variables(name: str, variables: Sequence[str]) -> Draw:
    """Drawing function of a figure kind that shows just these variables; refused if it has none to choose."""
    from functools import partial
    from inspect import signature

    draw: Callable[..., None] = kind(name)
    if "variables" not in signature(draw).parameters:
        from sojourn.errors import InputError

        raise InputError(f"--variables: the figure kind {name} has none to choose; leave it out")
    return partial(draw, variables=variables)
