"""Figure kinds by name: adding one takes a file here and a line in `KINDS`.

A kind's module has a function `draw(results, names, sheet)` that creates panels on the sheet and fills them with
`marks`. The options listed in `KINDS` are further arguments of that function, with defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from sojourn.figures.canvas import Sheet
    from sojourn.model.analysis.labels import Name
    from sojourn.model.results.result import Result


@dataclass(frozen=True)
class Kind:
    """A figure kind: its module, its content, and its options."""

    module: str
    about: str
    options: tuple[str, ...] = ()


KINDS = {
    "timeseries": Kind(
        "sojourn.figures.timeseries", "sojourn time of every packet over time, drops as thin vertical lines"
    ),
    "queue": Kind("sojourn.figures.queue", "queue length over time, in packets, bytes or ms", ("unit",)),
    "comparison": Kind(
        "sojourn.figures.comparison",
        "sojourn time over time and its distribution side by side, as `compare` draws them",
    ),
    "cdf": Kind("sojourn.figures.cdf", "distribution of sojourn times: share of packets that waited at most this long"),
    "ccdf": Kind("sojourn.figures.ccdf", "complement of the distribution on a logarithmic axis, for the tail"),
    "box": Kind("sojourn.figures.box", "quartiles of sojourn time with whiskers at 10 and 90 %, and of throughput"),
    "utilisation": Kind(
        "sojourn.figures.utilisation", "utilisation and delay against a swept parameter", ("x", "metric")
    ),
    "heatmap": Kind(
        "sojourn.figures.heatmap",
        "a metric over two swept parameters, one panel per queue manager",
        ("x", "y", "metric"),
    ),
    "ellipse": Kind(
        "sojourn.figures.ellipse", "goodput against delay: mean and standard deviation over flows or seeds", ("over",)
    ),
    "state": Kind(
        "sojourn.figures.state",
        "state variables of the queue managers over time, drops as thin vertical lines",
        ("variables",),
    ),
    "drops": Kind("sojourn.figures.drops", "smoothed drop rate over time", ("memory", "from", "to")),
    "window": Kind(
        "sojourn.figures.window",
        "delay of consecutive packets in a short window, drops as vertical lines",
        ("from", "to"),
    ),
    "sequence": Kind(
        "sojourn.figures.sequence",
        "sequence numbers of a TCP flow over time: segments, retransmissions, acknowledgments, drops",
        ("flow", "from", "to"),
    ),
    "pacing": Kind(
        "sojourn.figures.pacing",
        "pacing rate, delivered rate, gaps between sends and bursts of TCP flows, with window and flight",
        ("flow", "from", "to"),
    ),
    "media": Kind(
        "sojourn.figures.media",
        "media flows over time: target and received rate, queueing delay, losses and late frames",
        ("flow", "from", "to"),
    ),
    "bytes": Kind("sojourn.figures.bytes", "cumulative bytes sent over time"),
    "airtime": Kind("sojourn.figures.airtime", "airtime of every station of a wireless LAN, down and up"),
    "totals": Kind("sojourn.io.flent.totals", "goodput of each direction and pings over time, as Flent's plot"),
    "rates": Kind("sojourn.figures.rates", "ingress, egress and capacity over time, as areas", ("step",)),
}

FORMATS = ("png", "svg", "pdf", "pgf", "csv", "json")
"""Output formats; csv and json contain the plotted data."""
PRESETS = {
    "ieee-column": "3.5 in wide, text of 7 and 8 pt in Times",
    "acm-column": "3.33 in wide, text of 7 and 8 pt in Libertine",
    "slide": "10 by 5.6 in, text of 16 and 18 pt",
    "dark": "light on dark",
}
"""Style sheets shipped in `styles/`."""
PALETTES = {
    "okabe-ito": ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"),
    "tol-bright": ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb"),
    "tol-vibrant": ("#ee7733", "#0077bb", "#33bbee", "#ee3377", "#cc3311", "#009988", "#bbbbbb"),
    "tol-muted": ("#cc6677", "#332288", "#ddcc77", "#117733", "#88ccee", "#882255", "#44aa99", "#999933", "#aa4499"),
    "grey": ("#000000", "#777777", "#444444", "#aaaaaa"),
}
"""Colours by palette name: those of Okabe and Ito (2008), of Paul Tol (2021), and for grey print."""
LEGENDS = ("auto", "above", "below", "right", "none")
"""Legend positions in addition to matplotlib's locations within the panels."""


class Draw(Protocol):
    """Drawing function of a figure kind."""

    def __call__(self, results: Sequence[Result], names: Sequence[Name], sheet: Sheet) -> None:
        """Fill `sheet` with `results`, labelled with `names`."""


def kind(name: str, options: Mapping[str, object] | None = None) -> Draw:
    """Drawing function of a figure kind, with options as typed; raises `InputError` for an unknown kind or option."""
    from sojourn.base.errors import InputError, known_name

    name = known_name("figure kind", name, KINDS)
    arguments = {}
    for option, value in (options or {}).items():
        if option not in KINDS[name].options:
            known = " and ".join(f"--{one}" for one in KINDS[name].options)
            remedy = f"it accepts {known}" if known else "leave it out"
            raise InputError(f"--{option}: the figure kind {name} has no such option; {remedy}")
        arguments[OPTIONS[option].argument] = OPTIONS[option].read(option, value)
    draw: Draw = import_module(KINDS[name].module).draw
    return partial(draw, **arguments)


@dataclass(frozen=True)
class Option:
    """Option of figure kinds: the argument of `draw`, its help, and its parser."""

    argument: str
    metavar: str
    help: str
    read: Callable[[str, Any], Any]


def _text(_: str, text: object) -> str:
    return str(text)


def _names(_: str, text: str | Sequence[str]) -> list[str]:
    return [name.strip() for name in text.split(",")] if isinstance(text, str) else list(text)


def _numbers(option: str, text: str | int | Sequence[int]) -> list[int]:
    """Non-negative integers, separated by commas."""
    from sojourn.base.errors import InputError

    if isinstance(text, int):
        return [text]
    words = _names(option, text) if isinstance(text, str) else [str(number) for number in text]
    if not words or not all(word.isdecimal() for word in words):
        raise InputError(f'--{option}: "{text}" is not a list of numbers; write e.g. --{option} 0,1')
    return list(dict.fromkeys(int(word) for word in words))


def _seconds(option: str, value: str | float) -> float:
    """Seconds of a duration; a bare number is in seconds, as on the axes."""
    from sojourn._core import duration_ns
    from sojourn.base.errors import InputError

    text = str(value)
    try:
        return duration_ns(text if text.strip()[-1:].isalpha() else f"{text} s") / 1e9
    except InputError as error:
        raise InputError(f"--{option}: {error}") from None


OPTIONS = {
    "variables": Option("variables", "A,B,…", "state variables to draw [the most important ones]", _names),
    "x": Option(
        "x", "PATH", "numeric key on the horizontal axis, e.g. link.rate [the one with the most values]", _text
    ),
    "y": Option(
        "y", "PATH", "numeric key on the vertical axis, e.g. flows.0.rtt [the one with the second most values]", _text
    ),
    "metric": Option("metric", "COLUMN", "column of the summary to draw [sojourn_mean_ms]", _text),
    "unit": Option("unit", "packets|bytes|ms", "unit of the queue length [packets]", _text),
    "over": Option(
        "over", "flows|seeds", "draw one point per seed or per flow [seeds; flows if there is one seed]", _text
    ),
    "memory": Option("memory_s", "TIME", "averaging time [0.5 s]", _seconds),
    "flow": Option("flows", "N", "number of the flow; for pacing also several, as 0,1 [the first one]", _numbers),
    "from": Option("from_s", "TIME", "start of the time axis [drops: start of the run; else its middle]", _seconds),
    "to": Option("to_s", "TIME", "end of the time axis [drops: end of the run; else a second or two later]", _seconds),
    "step": Option("step_s", "TIME", "interval over which packets are counted [1/150 of the run]", _seconds),
}
"""Options by name; several kinds may share one."""
