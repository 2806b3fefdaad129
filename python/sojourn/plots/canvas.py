"""Making, styling and saving figures; no global state, so that figures can be drawn in any thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sojourn.errors import InputError
from sojourn.files import write_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = ("png", "svg", "pdf")


@contextmanager
def style() -> Iterator[None]:
    """Apply the stylesheet within the block."""
    with as_file(files("sojourn.plots") / "sojourn.mplstyle") as path, mpl.rc_context(fname=str(path)):
        yield


def new_figure(width: float = 7.0, height: float = 4.0) -> Figure:
    """Make an empty figure of so many inches."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def curves(count: int) -> list[dict[str, Any]]:
    """Colour and line style of each of `count` curves; where colours begin again, the styles are others."""
    cycle = list(mpl.rcParams["axes.prop_cycle"])
    found = []
    for index in range(count):
        lap, place = divmod(index, len(cycle))
        style_of = cycle[(place + lap) % len(cycle)]["linestyle"]
        found.append({"color": cycle[place]["color"], "linestyle": style_of})
    return found


def named_curves(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour and line style by name, the same for a name that comes again."""
    distinct = list(dict.fromkeys(names))
    return dict(zip(distinct, curves(len(distinct)), strict=True))


def figure_format(path: Path | str) -> str:
    """Format that the suffix of `path` names; PNG for what has none, such as a device."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix and suffix not in FORMATS:
        raise InputError(f'{path}: ".{suffix}" is no figure format; end the name in .png, .svg or .pdf')
    return suffix or "png"


def save(figure: Figure, path: Path | str) -> Path:
    """Write a figure in the format of its suffix: the whole file or none."""
    kind = figure_format(path)
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": None}[kind]
    with style():
        as_written(figure)
        return write_file(path, lambda file: figure.savefig(file, format=kind, metadata=metadata))


def as_written(figure: Figure) -> None:
    """Let names be shown as they are written: a $ in one begins no formula. Powers of ten on axes are formulas."""
    from matplotlib.text import Text
    from matplotlib.ticker import LogFormatterMathtext

    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        if not isinstance(axis.get_major_formatter(), LogFormatterMathtext):
            for tick in axis.get_major_ticks(len(axis.get_majorticklocs())):
                tick.label1.set_parse_math(False)
    for text in figure.findobj(Text):
        if "$" in text.get_text() and r"\mathdefault" not in text.get_text():
            text.set_parse_math(False)


def sojourn_axis(
    axes: Axes, spans: Sequence[Span], *, which: str = "x", headroom: float = 0.03, widen: float = 1.0
) -> None:
    """Fit the axis of sojourn time to the runs: logarithmic if what is usual in one is tiny in another.

    `headroom` is the share of the axis that stays free above the largest value; a logarithmic axis begins at the least
    value over `widen`.
    """
    low = max(LOWEST_MS, min(span.low for span in spans) / widen)
    high = max(span.high for span in spans)
    usual = max(LOWEST_MS, min(span.median for span in spans))
    axis, set_scale, set_limits = (
        (axes.xaxis, axes.set_xscale, axes.set_xlim) if which == "x" else (axes.yaxis, axes.set_yscale, axes.set_ylim)
    )
    if high / usual <= LINEAR_RATIO:
        set_limits(0, max(high, LOWEST_MS) / (1 - headroom))
        return
    set_scale("log")
    set_limits(low, low * (high / low) ** (1 / (1 - headroom)))
    axis.set_major_formatter(lambda value, _: f"≤{value:g}" if value <= LOWEST_MS else f"{value:g}")


def number_axis(axes: Axes, values: Sequence[float]) -> None:
    """Put the ticks of the horizontal axis at a parameter's values; logarithmic if they span a factor of eight."""
    if len(values) > 1 and values[0] > 0 and values[-1] / values[0] >= 8:
        axes.set_xscale("log")
    if len(values) <= MANY_VALUES:
        axes.set_xticks(values, [f"{value:g}" for value in values])
        axes.set_xticks([], minor=True)


def plain_legend(axes: Axes, labels: Sequence[str]) -> None:
    """Legend beside the axes, where it hides no curve; none for a single curve."""
    if 1 < len(labels) <= 4:
        columns = 2 if max(len(label) for label in labels) < 16 else 1
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns, borderaxespad=0.2)
    elif len(labels) > 4:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def shared_legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """Legend of all panels above them, each name once; none for a single curve."""
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    if len(found) > 1:
        columns = max(1, min(len(found), int(11 * figure.get_size_inches()[0] / (max(map(len, found)) + 8))))
        figure.legend(handles=list(found.values()), labels=list(found), loc="outside upper center", ncols=columns)


@dataclass(frozen=True)
class Span:
    """Sojourn times of a run in ms: nearly the smallest, the median, the largest shown."""

    low: float
    median: float
    high: float


LOWEST_MS = 0.1
"""Where a logarithmic axis of sojourn time begins at the latest: it has no room for zero."""
MANY_VALUES = 10
"""More values than this do not get a tick each."""
LINEAR_RATIO = 40
"""Largest ratio of the largest value to the least median on a linear axis."""
