"""Airtime of every station of a wireless LAN: its own frames, and the access point's frames to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.base.errors import InputError
from sojourn.figures import marks, scales
from sojourn.figures.channels import areas
from sojourn.model.analysis.labels import Name, all_of_each

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result

PARTS = {"airtime_down": "to the station", "airtime": "from the station"}


def draw(results: Sequence[Result], names: Sequence[Name], sheet: Sheet) -> None:
    """Fill `sheet` with a panel per name: a bar per station, in two parts; means over the name's runs.

    An airtime is a share of the time; the rest is pauses, beacons and the access point's part of collisions.
    """
    for result, name in zip(results, names, strict=True):
        if not result.stations:
            subject, remedy = "its bottleneck", "describe one in [wlan]"
            if result.scenario.is_graph:
                subject, remedy = f"link {result.link!r}", "choose one with --link, in Python with at"
            raise InputError(f"{name}: {subject} is not a wireless LAN and has no airtime; {remedy}")
    runs = all_of_each(results, names)
    most = max(result.stations for result in results)
    width = min(9.0, 1.5 + 2.6 * len(runs))
    panels = sheet.tiles(len(runs), width=width, height=0.5 + 0.26 * most, min_width=1.5, text=True)
    for axes, (name, own) in zip(panels, runs.items(), strict=True):
        draw_airtimes(airtimes(own), most, axes)
        scales.title(axes, str(name))
    for axes in sheet.bottom:
        axes.set_xlabel("airtime [%]")
    panels[0].set_xlim(left=0)
    sheet.legend()


def airtimes(runs: Sequence[Result]) -> dict[str, list[float]]:
    """Airtime of each station in percent by part, as means over `runs`, which have the same stations."""
    stations = [run.station_airtimes for run in runs]
    return {
        part: [100 * sum(one[part] for one in same) / len(runs) for same in zip(*stations, strict=True)]
        for part in PARTS
    }


def draw_airtimes(parts: dict[str, list[float]], count: int, axes: Axes) -> None:
    """Draw a bar per station, the first on top; the axis has room for `most` stations."""
    ends = [0.0] * count
    places = [f"station {number}" for number in range(count)]
    for (part, values), color in zip(parts.items(), areas(0, 1), strict=True):
        shown = [*values, *[0.0] * (count - len(values))]
        marks.bars(axes, places, shown, PARTS[part], base=ends, height=0.7, color=color)
        ends = [left + value for left, value in zip(ends, shown, strict=True)]
    axes.grid(visible=False, axis="y")
