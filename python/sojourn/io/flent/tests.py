"""Flent's tests by name: adding one is a line in `TESTS`.

What each sends is read from the definitions that come with Flent 2.3.0 (`flent/tests`): its TCP flows in both
directions, what their series are called, the pings beside them, and whether there is a call.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

WAYS = ("download", "upload")


@dataclass(frozen=True)
class Streams:
    """TCP flows of a direction."""

    names: tuple[str, ...] = ()
    """What follows "TCP download" in the name of each flow's series; the last word is its class."""
    each: str = ""
    """The same of a test with any number of flows: `{number}` counts from 1, `{rtt}` is a host's RTT in ms."""
    count: int = 0
    """How many of those; 0 for as many as the user wants."""
    fewest: int = 1
    """How many of those there are at least."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Fewest and most flows."""
        if self.each and not self.count:
            return self.fewest, inf
        fixed = self.count if self.each else len(self.names)
        return fixed, fixed

    def endings(self, count: int) -> tuple[str, ...]:
        """What follows "TCP download" in the names of so many flows' series, but for their RTT."""
        return tuple(self.each.replace("{number}", str(at + 1)) for at in range(count)) if self.each else self.names


@dataclass(frozen=True)
class Definition:
    """What a test sends."""

    about: str
    down: Streams = Streams()
    up: Streams = Streams()
    pings: tuple[str, ...] = ("ICMP",)
    """What follows "Ping (ms)" in the name of each ping's series; the last word is its class."""
    voice: bool = False
    """Whether there is a call, sent as an upload."""

    @property
    def ways(self) -> dict[str, Streams]:
        """The flows by direction."""
        return dict(zip(WAYS, (self.down, self.up), strict=True))

    @property
    def takes_flows(self) -> bool:
        """Whether the number of flows is the user's."""
        counted = (streams.each and not streams.count for streams in self.ways.values())
        return any(counted) and not self.takes_hosts

    @property
    def takes_hosts(self) -> bool:
        """Whether the test has several hosts, each with a round-trip time of its own."""
        return any("{rtt}" in streams.each for streams in self.ways.values())

    @property
    def sums(self) -> bool:
        """Whether Flent adds the flows of a direction up."""
        return any(streams.each or any(streams.names) for streams in self.ways.values())


def dscp(ending: str) -> str | None:
    """Code point of a series by the last word of its name: `CS1` for `BK`; None for best effort."""
    word = (ending.split() or [""])[-1].partition("_")[0]
    word = CLASSES.get(word, word)
    return word if word == "EF" or (word.startswith("CS") and word != "CS0") else None


def control(ending: str) -> str | None:
    """Congestion control that the name of a series says; None where it says none."""
    word = (ending.split() or [""])[0].lower()
    return word if word in ("cubic", "reno", "bbr", "westwood", "dctcp", "ledbat") else None


CLASSES = {"BK": "CS1"}
_ONE = Streams(("",))
_CLASSES = Streams((" BE", " BK", " CS5", " EF"))
_BEST_EFFORT = Streams((" BE", " BE2", " BE3", " BE4"))
_EIGHT = Streams((" CS0_BE", " CS1_BK", *(f" CS{number}" for number in range(2, 8))))
_UDP = ("UDP EF", "UDP BK", "UDP BE", "ICMP")
_UDP_BE = ("UDP BE1", "UDP BE2", "UDP BE3", "ICMP")


def _many(count: int) -> Streams:
    return Streams(each="::{number}", count=count)


def _best_effort(count: int) -> Streams:
    return Streams(each=" BE::{number}", count=count)


def _against(other: str) -> Definition:
    streams = Streams((" Cubic BE", f" {other} BE", " Cubic CS1", f" {other} CS1"))
    pings = ("UDP BE", "UDP CS1", "UDP CS6", "ICMP")
    return Definition(f"CUBIC beside {other} in two classes, both ways", streams, streams, pings)


TESTS: dict[str, Definition] = {
    "tcp_download": Definition("a download", _ONE),
    "tcp_upload": Definition("an upload", up=_ONE),
    "tcp_bidirectional": Definition("a download and an upload", _ONE, _ONE),
    "tcp_ndown": Definition("downloads", _many(0)),
    "tcp_nup": Definition("uploads", up=_many(0)),
    "tcp_1down": Definition("a download", _ONE),
    "tcp_1up": Definition("an upload", up=_ONE),
    **{f"tcp_{count}down": Definition(f"{count} downloads", _many(count)) for count in (2, 4, 6, 8, 12)},
    **{f"tcp_{count}up": Definition(f"{count} uploads", up=_many(count)) for count in (2, 4, 6, 8, 12)},
    "rrul": Definition("four downloads and four uploads in four classes", _CLASSES, _CLASSES, _UDP),
    "rrul_be": Definition("four downloads and four uploads", _BEST_EFFORT, _BEST_EFFORT, _UDP_BE),
    "rrul_be_nflows": Definition("downloads and uploads", _best_effort(0), _best_effort(0), ("UDP BE", "ICMP")),
    "rrul_noclassification": Definition("rrul_be with pings in three classes", _BEST_EFFORT, _BEST_EFFORT, _UDP),
    "rrul_icmp": Definition("rrul_be with one ping", _BEST_EFFORT, _BEST_EFFORT),
    "rrul_cs8": Definition(
        "eight downloads and eight uploads in eight classes",
        _EIGHT,
        _EIGHT,
        (*(f"UDP{ending}" for ending in reversed(_EIGHT.names)), "ICMP"),
    ),
    "rrul_50_down": Definition("50 downloads and an upload", _best_effort(50), Streams((" BE",)), _UDP_BE),
    "rrul_50_up": Definition("a download and 50 uploads", Streams((" BE",)), _best_effort(50), _UDP_BE),
    "rrul_100_up": Definition("a download and 100 uploads", Streams((" BE",)), _best_effort(100), _UDP_BE),
    "cubic_reno": _against("Reno"),
    "cubic_bbr": _against("BBR"),
    "cubic_westwood": _against("Westwood"),
    "cubic_dctcp": _against("dctcp"),
    "cubic_ledbat": _against("Ledbat"),
    "rtt_fair_var": Definition(
        "a download and an upload to each of several hosts",
        Streams(each=" BE rtt-{rtt}ms", fewest=2),
        Streams(each=" BE rtt-{rtt}ms", fewest=2),
    ),
    "rtt_fair_var_down": Definition("a download from each of several hosts", Streams(each=" BE rtt-{rtt}ms", fewest=2)),
    "rtt_fair_var_up": Definition("an upload to each of several hosts", up=Streams(each=" BE rtt-{rtt}ms", fewest=2)),
    "ping": Definition("pings alone", pings=("ICMP", "UDP")),
    "voip": Definition("a call", pings=(), voice=True),
    "voip-1up": Definition("a call beside an upload", up=_ONE, pings=(), voice=True),
    "voip-rrul": Definition("a call beside rrul_be", _BEST_EFFORT, _BEST_EFFORT, _UDP_BE, voice=True),
}
