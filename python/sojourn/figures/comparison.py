"""Sojourn time over time, a panel per name, and beside it the distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.figures.capacity import capacity, rate_varies
from sojourn.figures.channels import Channels
from sojourn.figures.distribution import (
    Histograms,
    distributions,
    draw_distribution,
    draw_tiles,
    format_cdf_axes,
    note_steps,
    span_of,
)
from sojourn.figures.scales import sojourn_axis
from sojourn.figures.timeseries import draw_panels, drawn_packets, note_bands
from sojourn.figures.warmup import shade_warmups
from sojourn.model.analysis.labels import Name, first_of_each

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result


def draw(results: Sequence[Result], names: Sequence[Name], sheet: Sheet) -> None:
    """Fill `sheet`: time series show the first seed of each name, distributions merge all seeds.

    A link with a varying rate has a panel of its own. Without packets, or for several queue managers under several
    loads, only distributions are drawn, a panel for each load.
    """
    if Channels(names).two:
        format_cdf_axes(draw_tiles(results, names, sheet, tail=False, most=1), sheet)
        return
    firsts = first_of_each(results, names)
    found = distributions(results, names)
    if not any("packets" in result.table_names for result in firsts.values()):  # too many packets to record
        [[axes]] = sheet.panels(height=3.5)
        _draw_distributions(found, axes, sheet)
        note_steps(firsts, found, sheet)
        return
    first = next(iter(firsts.values()))
    varies = not first.is_log and rate_varies(first.setup)
    panels, side = _arrange(sheet, len(firsts), varies)
    packets = {name: drawn_packets(result) for name, result in firsts.items()}
    draw_panels(packets, panels[: len(firsts)])
    if varies:
        capacity(first.setup, first.duration_s, panels[-1])
    for axes in panels[:-1]:
        axes.tick_params(labelbottom=False)
    panels[-1].set_xlabel("time [s]")
    panels[0].set_xlim(0, max(result.duration_s for result in firsts.values()))
    shade_warmups(panels[: len(firsts)], [[result] for result in firsts.values()], sheet)
    _draw_distributions(found, side, sheet)
    note_bands(
        [len(one["time_s"]) for one in packets.values()], max(result.duration_s for result in firsts.values()), sheet
    )
    note_steps(firsts, found, sheet)


def _arrange(sheet: Sheet, count: int, varies: bool) -> tuple[list[Axes], Axes]:
    """Panels of time series, with one of the capacity below if it `varies`, and the panel of the distribution.

    The distribution is beside them if the figure is wide enough, else below.
    """
    rows = count + varies
    beside = sheet.width(WIDTH_IN) >= BESIDE_IN
    if beside:
        grid = sheet.grid(rows, 2, width=WIDTH_IN, height=max(1.3, 2.6 / rows), width_ratios=(2.2, 1.0))
        places, place = [grid[row, 0] for row in range(rows)], grid[:, 1]
    else:
        ratios = [1.0] * rows + [1.8]
        grid = sheet.grid(rows + 1, 1, width=7.0, height=1.5 * sum(ratios) / len(ratios), height_ratios=ratios)
        places, place = [grid[row, 0] for row in range(rows)], grid[rows, 0]
    panels: list[Axes] = []
    for row, one in enumerate(places):
        share = {"sharex": panels[0]} if panels else {}
        panels.append(sheet.add(one, **({**share, "sharey": panels[0]} if panels and row < count else share)))
    return panels, sheet.add(place)


def _draw_distributions(found: Histograms, axes: Axes, sheet: Sheet) -> None:
    channels = Channels(found)
    draw_distribution(found, axes, channels, tail=False)
    sojourn_axis(axes, [span_of(histogram) for histogram in found.values()])
    axes.set_ylim(0, 1.01)
    axes.set_xlabel("sojourn time [ms]")
    axes.set_ylabel("share of packets")
    sheet.legend(channels.legend())


WIDTH_IN = 10.0
BESIDE_IN = 6.0
"""Narrower figures place the distribution below the time series."""
