"""Colour, line style and marker of curves: the queue manager determines the colour, the load the line or the panel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import matplotlib as mpl
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D

from sojourn.model.analysis.labels import Name

LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 3)))
MARKERS = "os^Dv*P"
MANY_CURVES = 6
"""Maximum number of curves in one panel; more are split into a panel for each load."""

_ALL: ContextVar[Sequence[Name]] = ContextVar("all names", default=())
"""Names of all results of the current figure."""


@contextmanager
def of_results(names: Iterable[Name]) -> Iterator[None]:
    """Assign colours by the position in `names`, even if a figure shows only some of them.

    A queue manager then has the same colour in every figure of the same results.
    """
    token = _ALL.set(list(dict.fromkeys(names)))
    try:
        yield
    finally:
        _ALL.reset(token)


class Channels:
    """Appearance of every name: colour and marker by its queue manager, line style by its load.

    If only one of both varies, the unused channels distinguish the names as well, so that a figure is readable in grey
    print. If there are more names than colours, the colours repeat with other lines and markers: the first 42 queue
    managers look different. Colours are assigned among all results (`of_results`).
    """

    def __init__(self, names: Iterable[Name]) -> None:
        self._given = list(names)
        self.names = list(dict.fromkeys(self._given))
        self.aqms = list(dict.fromkeys(name.aqm for name in self.names))
        self.loads = list(dict.fromkeys(name.load for name in self.names))
        self.colors = colors()
        everything = _ALL.get()
        managers = list(dict.fromkeys(name.aqm for name in everything))
        is_part = set(self.names) <= set(everything)
        self.two = _two(self.names) or (is_part and _two(everything))
        """Whether queue managers and loads vary independently."""
        self._order: list[Any] = self.aqms if self.two else self.names
        if is_part and not self.two:
            self._order = list(everything)
        elif len(managers) > 1 and set(self.aqms) <= set(managers) and (self.two or _is_one_each(self.names)):
            self._order = managers
        self._lines = list(dict.fromkeys(name.load for name in everything)) if is_part and self.two else self.loads

    def line(self, name: Name) -> dict[str, Any]:
        """Colour and line style; also sparse markers if these would repeat."""
        look = {"color": self.color(name), "linestyle": self._linestyle(name)}
        if self.two and self._number(name) >= len(self.colors):
            look |= {"marker": self._marker(name), "markevery": 0.12}
        return look

    def marked(self, name: Name) -> dict[str, Any]:
        """Colour, line style and marker, for curves of few points."""
        return {"color": self.color(name), "linestyle": self._linestyle(name), "marker": self._marker(name)}

    def color(self, name: Name) -> str:
        """Colour only, for areas, boxes and points."""
        return self.colors[self._number(name) % len(self.colors)]

    def legend(self, *, marked: bool = False) -> list[Line2D]:
        """A line per name; if both parts vary, one per queue manager, and one per load in grey."""
        look = self.marked if marked else self.line
        if not self.two:
            labels = [f"{replace(name, remark='')}{_remark(self._given, name)}" for name in self.names]
            return [_entry(label, look(name)) for label, name in zip(labels, self.names, strict=True)]
        whole = [replace(name, load="") for name in self._given]
        aqms = [
            _entry(f"{aqm}{_remark(whole, Name(aqm))}", {**look(Name(aqm, self.loads[0])), "linestyle": "-"})
            for aqm in self.aqms
        ]
        names = [Name(self.aqms[0], load) for load in self.loads]
        return [*aqms, *(_entry(one.load, {"color": muted(), "linestyle": self._linestyle(one)}) for one in names)]

    def _number(self, name: Name) -> int:
        """Index that selects the colour."""
        return self._order.index(name if name in self._order else name.aqm)

    def _linestyle(self, name: Name) -> Any:
        if self.two:
            return LINES[self._lines.index(name.load) % len(LINES)]
        return LINES[self._shifted(name) % len(LINES)]

    def _marker(self, name: Name) -> str:
        return MARKERS[self._shifted(name) % len(MARKERS)]

    def _shifted(self, name: Name) -> int:
        """Index of the colour, incremented on each wrap-around, which gives other lines and markers."""
        lap, place = divmod(self._number(name), len(self.colors))
        return place + lap


def _remark(names: Sequence[Name], name: Name) -> str:
    """Remark on a name among `names`; if not all entries equal to it have the remark, also their number."""
    own = [one.remark for one in names if one == name]
    remarks = list(dict.fromkeys(filter(None, own)))
    if not remarks:
        return ""
    where = "" if all(own) else f" ({sum(map(bool, own))} of {len(own)})"
    return f", {', '.join(remarks)}{where}"


def _two(names: Sequence[Name]) -> bool:
    aqms, loads = len({name.aqm for name in names}), len({name.load for name in names})
    return len(names) > max(aqms, loads) and aqms > 1 and loads > 1


def _is_one_each(names: Sequence[Name]) -> bool:
    """Whether no two names have the same queue manager."""
    return len({name.aqm for name in names}) == len(names)


def of_flows(names: Iterable[Iterable[str]]) -> Channels:
    """Channels for flows by name, given the flow names of each of several results."""
    return Channels(Name(one) for one in dict.fromkeys(one for found in names for one in found))


def facets(names: Iterable[Name], most: int = MANY_CURVES) -> dict[str, dict[Name, Name]]:
    """Panel titles, and for each panel its names with their labels there.

    A single panel without a title, or, for more than `most` names, a panel for each load, if there are several queue
    managers under several loads.
    """
    distinct = list(dict.fromkeys(names))
    loads = list(dict.fromkeys(name.load for name in distinct))
    if len(distinct) <= most or not Channels(distinct).two:
        return {"": {name: name for name in distinct}}
    return {
        load: {name: Name(name.aqm, remark=name.remark) for name in distinct if name.load == load} for load in loads
    }


def colors() -> list[str]:
    """Colours of the palette, in order."""
    found: list[str] = mpl.rcParams["axes.prop_cycle"].by_key().get("color", ["black"])
    return [to_hex(color) for color in found]


def areas(*places: int) -> list[str]:
    """Colours of adjacent areas, by palette index; lighter shades of one colour if the palette is too short."""
    found = colors()
    if len({place % len(found) for place in places}) == len(places):
        return [found[place % len(found)] for place in places]
    shares = [1 - 0.7 * number / len(places) for number in range(len(places))]
    return [_between(share, found[0]) for share in shares]


def curves(count: int) -> list[dict[str, Any]]:
    """Colour and line style of each of `count` curves; when colours repeat, line styles differ."""
    channels = Channels(Name(str(number)) for number in range(count))
    return [channels.line(name) for name in channels.names]


def muted() -> str:
    """Colour of remarks and secondary elements."""
    return _between(0.65)


def faint() -> str:
    """Colour of background areas."""
    return _between(0.18)


def thin(share: float = 0.6) -> float:
    """Width in pt of lines thinner than a curve."""
    return float(share * mpl.rcParams["lines.linewidth"])


def _between(share: float, color: str | None = None) -> str:
    """Mix of a colour (default: the text's) with the background; `share` is the colour's share."""
    text, ground = to_rgb(color or mpl.rcParams["text.color"]), to_rgb(mpl.rcParams["axes.facecolor"])
    red, green, blue = (share * one + (1 - share) * other for one, other in zip(text, ground, strict=True))
    return to_hex((red, green, blue))


def _entry(name: str, look: dict[str, Any]) -> Line2D:
    return Line2D([], [], label=name, **{key: value for key, value in look.items() if key != "markevery"})
