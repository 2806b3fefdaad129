"""Distributions from the runs' histograms, common to CDF and CCDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sojourn.base.errors import InputError
from sojourn.base.units import bits_per_second
from sojourn.figures import marks, scales
from sojourn.figures.channels import MANY_CURVES, Channels, facets
from sojourn.figures.scales import Span, plain, sojourn_axis
from sojourn.model.analysis.labels import Name, all_of_each, first_of_each
from sojourn.model.analysis.stats import merged, quantile

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from sojourn.base.frames import Columns
    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result

Histogram: TypeAlias = "Columns | pl.DataFrame"
"""Columns `lower_ms`, `upper_ms` and `count`."""
Histograms: TypeAlias = "Mapping[Name, Histogram]"


def distributions(results: Sequence[Result], names: Sequence[Name]) -> dict[Name, dict[str, NDArray[Any]]]:
    """Histogram of the forward link by name; runs of one name are added up."""
    found = {
        name: merged([run.histogram_of(own[0].link) for run in own])
        for name, own in all_of_each(results, names).items()
    }
    for name, histogram in found.items():
        if not len(histogram["count"]):
            raise InputError(f"{name}: no packet was sent after the warm-up; give a longer duration")
    return found


def draw_tiles(
    results: Sequence[Result], names: Sequence[Name], sheet: Sheet, *, tail: bool, most: int = MANY_CURVES
) -> list[Axes]:
    """Fill `sheet` with a curve per name; more than `most` names are split into a panel for each load."""
    found = distributions(results, names)
    groups = facets(found, most)
    single = len(groups) == 1
    panels = sheet.tiles(len(groups), height=3.5 if single else 1.9)
    channels = Channels(shown for group in groups.values() for shown in group.values())
    spans = [span_of(histogram, tail=tail) for histogram in found.values()]
    for axes, (load, group) in zip(panels, groups.items(), strict=True):
        draw_distribution({shown: found[name] for name, shown in group.items()}, axes, channels, tail=tail)
        sojourn_axis(axes, spans)
        if load:
            scales.title(axes, load)
    for axes in sheet.bottom:
        axes.set_xlabel("sojourn time [ms]")
    sheet.legend(channels.legend())
    note_steps(first_of_each(results, names), found, sheet)
    return panels


def format_cdf_axes(panels: Sequence[Axes], sheet: Sheet, label: str = "share of packets") -> None:
    """Set up the axes of a CDF."""
    for axes in panels:
        axes.set_ylim(0, 1.01)
    for axes in sheet.left:
        axes.set_ylabel(label)


def format_ccdf_axes(panels: Sequence[Axes], most: int, sheet: Sheet, label: str = "share that waited longer") -> None:
    """Set up the axes of a CCDF of at most `most` values."""
    for axes in panels:
        axes.set_yscale("log")
        axes.set_ylim(max(1e-6, 1 / most), 1.1)
    for axes in sheet.left:
        axes.set_ylabel(label)


def draw_distribution(histograms: Histograms, axes: Axes, channels: Channels, *, tail: bool) -> None:
    """Draw the share of packets per sojourn time in ms, one curve per name; with `tail` the complement."""
    for name, histogram in histograms.items():
        counts = np.asarray(histogram["count"])
        share = np.cumsum(counts) / counts.sum()
        above = 1 - share if tail else share
        marks.line(axes, histogram["upper_ms"], above, str(name), drawstyle="steps-post", **channels.line(name))


def span_of(histogram: Histogram, *, tail: bool = False) -> Span:
    """Range of sojourn times that an axis must show."""
    low, median, high = (quantile(histogram, q) or 0.0 for q in (0.02, 0.5, 1.0 if tail else 0.999))
    return Span(low, median, high)


def note_steps(results: Mapping[Name, Result], histograms: Histograms, sheet: Sheet) -> None:
    """Add a note about steps that are one packet transmission time wide, if there are any.

    ACK-clocked senders are synchronised to the link's departures, so every packet waits for an integer number of
    packets plus a constant offset.
    """
    found = {name: packet_time_ms(result) for name, result in results.items()}
    times = {time_ms for name, time_ms in found.items() if time_ms and has_steps(histograms[name], time_ms)}
    if times:
        shown = " or ".join(dict.fromkeys(plain(float(f"{time:.3g}")) for time in sorted(times)))
        sheet.note(f"steps: a packet of {FULL_BYTES} B takes {shown} ms to send")


def packet_time_ms(result: Result) -> float | None:
    """Transmission time in ms of a full-sized packet on a link of constant rate; None for other links."""
    link = {} if result.is_log else result.setup
    rate = link.get("rate", "")
    if not rate or "@" in rate:
        return None
    return 8e3 * FULL_BYTES / bits_per_second(rate)


def has_steps(histogram: Histogram, time_ms: float) -> bool:
    """Whether sojourn times visibly cluster at multiples of `time_ms` plus a constant offset.

    The mean of their phases, as points on the unit circle, is then far from the centre.
    """
    median = quantile(histogram, 0.5) or 0.0
    if not 0 < median < MAX_STEPS * time_ms:
        return False
    lower, upper, counts = (np.asarray(histogram[name]) for name in ("lower_ms", "upper_ms", "count"))
    phases = np.exp(2j * np.pi * ((lower + upper) / 2) / time_ms)
    return bool(abs(np.average(phases, weights=counts)) > CLUSTERED)


FULL_BYTES = 1500
CLUSTERED = 0.4
MAX_STEPS = 30
"""With a median of more packets than this, steps are too small to be visible."""
