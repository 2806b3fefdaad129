"""Figures to check: runs for every figure kind, and the visible texts of a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axis import Tick
from matplotlib.text import Text

import sojourn as sj
from sojourn.figures.api import Plot, draw
from sojourn.figures.canvas import layout_kept, style
from sojourn.figures.look import Look
from sojourn.model.analysis.labels import names_of

PROBES = {
    "probes.packets": True,
    "probes.headers": True,
    "probes.senders": True,
    "probes.state": "10 ms",
    "probes.utilisation": "250 ms",
}
LONG = "codel target 7ms interval 90ms"
COLUMNS = {"ieee-column": 3.5, "acm-column": 3.33}
"""Width in inches by preset."""


def cell(seed: int = 1, **sets: object) -> sj.Result:
    """Two stations at 54 and 6 Mbit/s, each with a download, the second with an upload."""
    stations = [{"rate": "54 Mbit/s"}, {"rate": "6 Mbit/s"}]
    tcp = {"kind": "tcp", "stack": "linux-2.6.29", "cc": "reno", "rtt": "20 ms"}
    down = {**tcp, "count": 2}
    up = {**tcp, "direction": "reverse", "station": 1}
    scenario = {"duration": "4 s", "wlan": {"stations": stations}, "flows": [down, up]}
    return sj.Scenario.build(scenario).replace({key.replace("__", "."): value for key, value in sets.items()}).run(seed)


def call(seed: int = 77, **sets: object) -> sj.Result:
    """Two calls and a transfer over a slow link whose rate decreases."""
    media = {"kind": "media", "control": "nada", "count": 2}
    scenario = {
        "duration": "9 s",
        "link": {"rate": "613 kbit/s@0s,251 kbit/s@4s", "limit": "7 packets"},
        "flows": [media, {"kind": "tcp", "start": "5 s"}],
        "probes": {"media": True},
    }
    return sj.Scenario.build(scenario).replace({key.replace("__", "."): value for key, value in sets.items()}).run(seed)


def drawn(kind: str, results: list[sj.Result], look: Look | None = None, **options: str) -> Plot:
    """Draw a figure with the layout of a PNG file."""
    found, _ = draw(kind, results, names_of(results), look=look, options=options)
    with style(look), layout_kept(found.figure, "png"):
        found.figure.draw_without_rendering()
    return found


def texts(figure: Any) -> list[Text]:
    """Visible texts of a figure, without ticks outside the limits."""
    unseen: set[int] = set()
    with style(figure.__dict__.get("_sojourn_look")):
        for axes in figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                shown = axis._update_ticks() if axes.axison else []
                unseen |= _labels([*axis.majorTicks, *axis.minorTicks]) - _labels(shown)
        found = [one for one in figure.findobj(Text) if id(one) not in unseen]
    return [one for one in found if one.get_visible() and one.get_text().strip()]


def _labels(ticks: Sequence[Tick]) -> set[int]:
    return {id(label) for tick in ticks for label in (tick.label1, tick.label2)}
