"""Axes of figures: limits, scales, ticks and remarks."""

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
    """Sojourn times of a run in ms: near the minimum, the median, the maximum shown."""

    low: float
    median: float
    high: float


LOWEST_MS = 0.1
"""Maximum lower end of a logarithmic axis of sojourn time, which cannot show zero."""
MANY_VALUES = 10
"""Maximum number of values with a tick each."""
LINEAR_RATIO = 40
"""Maximum ratio of the largest value to the smallest median on a linear axis."""
MIN_SHARE = 10
"""An axis of shares shows at least the whole divided by this."""
MIN_SPREAD = 0.002
"""Values that differ by at most this share of the largest count as equal."""


def plain(value: float) -> str:
    """A number in plain notation: at most six significant digits, no exponent."""
    rounded = float(f"{value:.6g}")
    return str(np.format_float_positional(rounded, trim="-")) if np.isfinite(rounded) else str(rounded)


def sojourn_axis(
    axes: Axes, spans: Sequence[Span], *, which: str = "x", headroom: float = 0.03, widen: float = 1.0
) -> None:
    """Scale the axis of sojourn time to the runs: logarithmic if their typical values differ widely.

    `headroom` is the free share of the axis above the largest value; a logarithmic axis starts at the smallest value
    divided by `widen`.
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
    """Make an axis logarithmic, with plain numbers; a tick at `lowest` means that smaller values are drawn there."""
    axis: Axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    plain_numbers(axis, lowest)


def plain_numbers(axis: Axis, lowest: float | None = None) -> None:
    """Write the numbers of a logarithmic axis in full."""

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


def whole_axis(axes: Axes, which: str = "y") -> None:
    """Put the ticks of an axis, the vertical one by default, at integers only."""
    axis = axes.yaxis if which == "y" else axes.xaxis
    axis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))


def share_span(low: float, high: float, whole: float) -> tuple[float, float]:
    """Range of an axis of shares from `low` to `high`: at least a tenth of the `whole`, and within it.

    Otherwise a hundredth of a percent, such as 99.9 % beside 100 %, would look like a large difference.
    """
    room = max(0.0, whole / MIN_SHARE - (high - low)) / 2
    low, high = low - room, high + room
    shift = max(0.0, -low) - max(0.0, high - whole)
    return max(0.0, low + shift), min(whole, high + shift)


def spans_decades(low: float, high: float, whole: float | None = None) -> bool:
    """Whether a scale is logarithmic: the maximum is many times the minimum, and no small part of a `whole`."""
    is_small = whole is not None and high - low < whole / MIN_SHARE
    return low > 0 and high / low > LINEAR_RATIO and not is_small


def fit_axis(axes: Axes, values: Sequence[float], *, whole: float | None = None) -> None:
    """Start the vertical axis at zero, unless values differ little or spread over decades.

    `values` are the ends of error bars. For shares, `whole` is the maximum, such as 100 %: the axis ends there, and
    shows at least a tenth of it. If all values are equal to within a 500th, the axis starts at zero too, so as not to
    exaggerate.
    """
    numbers = [value for value in values if np.isfinite(value)] or [0.0]
    low, high = min(numbers), max(numbers)
    if spans_decades(low, high, whole):
        log_axis(axes, "y")
        return
    alike = high - low <= MIN_SPREAD * max(abs(low), abs(high))
    begins_at_zero = low >= 0 and (alike or low < high / 2)
    if whole is not None:
        low, high = share_span(low, min(high, whole), whole)
    bottom = 0.0 if begins_at_zero else low - 0.06 * (high - low)
    bottom = bottom if whole is None else max(0.0, bottom)
    axes.set_ylim(bottom, high + 0.06 * ((high - bottom) or 1.0))


def title(axes: Axes, text: str, *, color: str | None = None) -> None:
    """Set the title of a panel, on the left above it."""
    axes.set_title(text, loc="left", fontweight="bold", pad=3, color=color or mpl.rcParams["text.color"])


def remark(axes: Axes, text: str) -> None:
    """Add a small remark on the right above a panel."""
    axes.set_title(text, loc="right", color=muted(), fontsize=mpl.rcParams["xtick.labelsize"], pad=3)
