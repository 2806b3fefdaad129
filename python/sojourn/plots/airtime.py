"""Airtime of every station of a wireless LAN: its own frames, and those of the access point to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sojourn.errors import InputError
from sojourn.labels import all_of_each
from sojourn.plots.canvas import curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.result import Result

PARTS = {"airtime_down": "to the station", "airtime": "from the station"}


def draw(results: Sequence[Result], labels: Sequence[str], figure: Figure) -> None:
    """Fill `figure` with a panel per label: a bar per station, in two parts; means over the label's runs.

    An airtime is a share of the time; what is left of it are pauses, beacons and the access point's part of collisions.
    """
    for result, label in zip(results, labels, strict=True):
        if not result.stations:
            raise InputError(
                f"{label}: its bottleneck is no wireless LAN, so nobody has airtime; describe one in [wlan]"
            )
    runs = all_of_each(results, labels)
    most = max(result.stations for result in results)
    figure.set_size_inches(1.5 + 2.6 * len(runs), 1.2 + 0.26 * most)
    panels = figure.subplots(1, len(runs), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (label, own) in zip(panels, runs.items(), strict=True):
        draw_airtimes(airtimes(own), axes)
        axes.set_title(label, loc="left", fontsize=8)
        axes.set_xlabel("airtime [%]")
    panels[0].set_xlim(left=0)
    names, parts = [f"station {number}" for number in range(most)], panels[0].containers
    panels[0].set_yticks(range(most), names)
    panels[0].set_ylim(most - 0.4, -0.6)
    figure.legend(parts, list(PARTS.values()), loc="outside upper center", ncols=2)


def airtimes(runs: Sequence[Result]) -> dict[str, list[float]]:
    """Airtime of each station in percent by part, as means over `runs`, which have the same stations."""
    stations: list[list[dict[str, Any]]] = [run.totals["wlan"]["stations"] for run in runs]
    return {
        part: [100 * sum(one[part] for one in same) / len(runs) for same in zip(*stations, strict=True)]
        for part in PARTS
    }


def draw_airtimes(parts: dict[str, list[float]], axes: Axes) -> None:
    """Draw a bar per station, the first on top."""
    done = [0.0] * len(parts["airtime"])
    for values, look in zip(parts.values(), curves(len(parts)), strict=True):
        axes.barh(range(len(values)), values, left=done, height=0.7, color=look["color"], alpha=0.8)
        done = [left + value for left, value in zip(done, values, strict=True)]
    axes.grid(visible=False, axis="y")
