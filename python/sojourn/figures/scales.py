"""Axes of figures: their limits, scales, ticks and remarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from sojourn.figures.channels import muted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis


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
LEAST_SHARE = 10
"""An axis of shares shows this part of the whole at least."""
LEAST_SPREAD = 0.002
"""Values that differ by no more than this share of the largest are as good as equal."""


def plain(value: float) -> str:
    """A number as people write it: six significant digits at most, no exponent."""
    rounded = float(f"{value:.6g}")
    return str(np.format_float_positional(rounded, trim="-")) if np.isfinite(rounded) else str(rounded)


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
    set_limits = axes.set_xlim if which == "x" else axes.set_ylim
    if high / usual <= LINEAR_RATIO:
        set_limits(0, max(high, LOWEST_MS) / (1 - headroom))
        return
    log_axis(axes, which, lowest=LOWEST_MS)
    set_limits(low, low * (high / low) ** (1 / (1 - headroom)))


def log_axis(axes: Axes, which: str, *, lowest: float | None = None) -> None:
    """Make an axis logarithmic, with plain numbers; a tick at `lowest` says that values below lie there too."""
    axis: Axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    plain_numbers(axis, lowest)


def plain_numbers(axis: Axis, lowest: float | None = None) -> None:
    """Write the numbers of a logarithmic axis out."""

    def text(value: float, _: object) -> str:
        return f"≤{plain(value)}" if lowest is not None and value <= lowest else plain(value)

    axis.set_major_formatter(FuncFormatter(text))
    axis.set_minor_formatter(NullFormatter())


def more_ticks(axes: Axes, which: str) -> None:
    """On a logarithmic axis of less than two decades, also put ticks at 2 and 5."""
    axis: Axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = sorted(axes.get_xlim() if which == "x" else axes.get_ylim())
    if axis.get_scale() == "log" and low > 0 and high / low < 100 and isinstance(axis.get_major_locator(), LogLocator):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))


def number_axis(axes: Axes, values: Sequence[float]) -> None:
    """Put the ticks of the horizontal axis at a parameter's values; logarithmic if they span a factor of eight."""
    if len(values) > 1 and values[0] > 0 and values[-1] / values[0] >= 8:
        log_axis(axes, "x")
    if len(values) <= MANY_VALUES:
        axes.set_xticks(values, [plain(value) for value in values])
        axes.set_xticks([], minor=True)


def whole_axis(axes: Axes) -> None:
    """Ticks of the vertical axis at whole numbers only."""
    axes.yaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))


def share_span(low: float, high: float, whole: float) -> tuple[float, float]:
    """The span of an axis of shares from `low` to `high`: at least a tenth of the `whole`, and within it.

    Else a hundredth of a percent, such as 99.9 % beside 100 %, would look like all the difference.
    """
    room = max(0.0, whole / LEAST_SHARE - (high - low)) / 2
    low, high = low - room, high + room
    shift = max(0.0, -low) - max(0.0, high - whole)
    return max(0.0, low + shift), min(whole, high + shift)


def spans_decades(low: float, high: float, whole: float | None = None) -> bool:
    """Whether a scale is logarithmic: the largest value is many times the least, and no small part of a `whole`."""
    is_small = whole is not None and high - low < whole / LEAST_SHARE
    return low > 0 and high / low > LINEAR_RATIO and not is_small


def fit_axis(axes: Axes, values: Sequence[float], *, whole: float | None = None) -> None:
    """Begin the vertical axis at zero, but where values differ little or spread over decades as they need it.

    `values` hold the ends of error bars. Of shares, `whole` is all there is, such as 100 %: the axis goes no further,
    and shows a tenth of that at least. Where all are as good as equal, to a 500th, the axis begins at zero too, so that
    it does not make much of nothing.
    """
    numbers = [value for value in values if np.isfinite(value)] or [0.0]
    low, high = min(numbers), max(numbers)
    if spans_decades(low, high, whole):
        log_axis(axes, "y")
        return
    alike = high - low <= LEAST_SPREAD * max(abs(low), abs(high))
    begins_at_zero = low >= 0 and (alike or low < high / 2)
    if whole is not None:
        low, high = share_span(low, min(high, whole), whole)
    bottom = 0.0 if begins_at_zero else low - 0.06 * (high - low)
    bottom = bottom if whole is None else max(0.0, bottom)
    axes.set_ylim(bottom, high + 0.06 * ((high - bottom) or 1.0))


def title(axes: Axes, text: str, *, color: str | None = None) -> None:
    """Name a panel, on the left above it."""
    axes.set_title(text, loc="left", fontweight="bold", pad=3, color=color or mpl.rcParams["text.color"])


def remark(axes: Axes, text: str) -> None:
    """Say something about a panel, small, on the right above it."""
    axes.set_title(text, loc="right", color=muted(), fontsize=mpl.rcParams["xtick.labelsize"], pad=3)
