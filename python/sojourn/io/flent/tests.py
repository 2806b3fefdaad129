"""Flent's tests by name; a test is an entry of `TESTS`.

Source: the definitions of Flent 2.3.0 (`flent/tests`), reduced to the TCP flows in both directions, the names of their
series, the pings, and whether there is a call.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

DIRECTIONS = ("download", "upload")


@dataclass(frozen=True)
class Streams:
    """TCP flows of a direction."""

    names: tuple[str, ...] = ()
    """Suffix after "TCP download" in the name of each flow's series; the last word is its class."""
    each: str = ""
    """Suffix for a variable number of flows: `{number}` counts from 1, `{rtt}` is a host's RTT in ms."""
    count: int = 0
    """Number of those flows; 0 if the user sets it."""
    minimum: int = 1
    """Minimum number of those flows."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Minimum and maximum number of flows."""
        if self.each and not self.count:
            return self.minimum, inf
        fixed = self.count if self.each else len(self.names)
        return fixed, fixed

    def endings(self, count: int) -> tuple[str, ...]:
        """Suffixes after "TCP download" of `count` flows, with `{rtt}` not yet replaced."""
        return tuple(self.each.replace("{number}", str(at + 1)) for at in range(count)) if self.each else self.names


@dataclass(frozen=True)
class TestDefinition:
    """Traffic of a test."""

    about: str
    down: Streams = Streams()
    up: Streams = Streams()
    pings: tuple[str, ...] = ("ICMP",)
    """Suffix after "Ping (ms)" in the name of each ping's series; the last word is its class."""
    voice: bool = False
    """Whether there is a call, sent as an upload."""

    @property
    def by_direction(self) -> dict[str, Streams]:
        """Flows by direction."""
        return dict(zip(DIRECTIONS, (self.down, self.up), strict=True))

    @property
    def takes_flows(self) -> bool:
        """Whether the user sets the number of flows."""
        counted = (streams.each and not streams.count for streams in self.by_direction.values())
        return any(counted) and not self.takes_hosts

    @property
    def takes_hosts(self) -> bool:
        """Whether the test has several hosts with different RTTs."""
        return any("{rtt}" in streams.each for streams in self.by_direction.values())

    @property
    def sums(self) -> bool:
        """Whether Flent computes sums over the flows of a direction."""
        return any(streams.each or any(streams.names) for streams in self.by_direction.values())


def dscp(ending: str) -> str | None:
    """DSCP of a series from the last word of its name, such as `CS1` for `BK`; None for best effort."""
    word = (ending.split() or [""])[-1].partition("_")[0]
    word = CLASSES.get(word, word)
    return word if word == "EF" or (word.startswith("CS") and word != "CS0") else None


def control(ending: str) -> str | None:
    """Congestion control in the name of a series; None if it has none."""
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


def _against(other: str) -> TestDefinition:
    streams = Streams((" Cubic BE", f" {other} BE", " Cubic CS1", f" {other} CS1"))
    pings = ("UDP BE", "UDP CS1", "UDP CS6", "ICMP")
    return TestDefinition(f"CUBIC beside {other} in two classes, both ways", streams, streams, pings)


TESTS: dict[str, TestDefinition] = {
    "tcp_download": TestDefinition("a download", _ONE),
    "tcp_upload": TestDefinition("an upload", up=_ONE),
    "tcp_bidirectional": TestDefinition("a download and an upload", _ONE, _ONE),
    "tcp_ndown": TestDefinition("downloads", _many(0)),
    "tcp_nup": TestDefinition("uploads", up=_many(0)),
    "tcp_1down": TestDefinition("a download", _ONE),
    "tcp_1up": TestDefinition("an upload", up=_ONE),
    **{f"tcp_{count}down": TestDefinition(f"{count} downloads", _many(count)) for count in (2, 4, 6, 8, 12)},
    **{f"tcp_{count}up": TestDefinition(f"{count} uploads", up=_many(count)) for count in (2, 4, 6, 8, 12)},
    "rrul": TestDefinition("four downloads and four uploads in four classes", _CLASSES, _CLASSES, _UDP),
    "rrul_be": TestDefinition("four downloads and four uploads", _BEST_EFFORT, _BEST_EFFORT, _UDP_BE),
    "rrul_be_nflows": TestDefinition("downloads and uploads", _best_effort(0), _best_effort(0), ("UDP BE", "ICMP")),
    "rrul_noclassification": TestDefinition("rrul_be with pings in three classes", _BEST_EFFORT, _BEST_EFFORT, _UDP),
    "rrul_icmp": TestDefinition("rrul_be with one ping", _BEST_EFFORT, _BEST_EFFORT),
    "rrul_cs8": TestDefinition(
        "eight downloads and eight uploads in eight classes",
        _EIGHT,
        _EIGHT,
        (*(f"UDP{ending}" for ending in reversed(_EIGHT.names)), "ICMP"),
    ),
    "rrul_50_down": TestDefinition("50 downloads and an upload", _best_effort(50), Streams((" BE",)), _UDP_BE),
    "rrul_50_up": TestDefinition("a download and 50 uploads", Streams((" BE",)), _best_effort(50), _UDP_BE),
    "rrul_100_up": TestDefinition("a download and 100 uploads", Streams((" BE",)), _best_effort(100), _UDP_BE),
    "cubic_reno": _against("Reno"),
    "cubic_bbr": _against("BBR"),
    "cubic_westwood": _against("Westwood"),
    "cubic_dctcp": _against("dctcp"),
    "cubic_ledbat": _against("Ledbat"),
    "rtt_fair_var": TestDefinition(
        "a download and an upload to each of several hosts",
        Streams(each=" BE rtt-{rtt}ms", minimum=2),
        Streams(each=" BE rtt-{rtt}ms", minimum=2),
    ),
    "rtt_fair_var_down": TestDefinition(
        "a download from each of several hosts", Streams(each=" BE rtt-{rtt}ms", minimum=2)
    ),
    "rtt_fair_var_up": TestDefinition(
        "an upload to each of several hosts", up=Streams(each=" BE rtt-{rtt}ms", minimum=2)
    ),
    "ping": TestDefinition("pings alone", pings=("ICMP", "UDP")),
    "voip": TestDefinition("a call", pings=(), voice=True),
    "voip-1up": TestDefinition("a call beside an upload", up=_ONE, pings=(), voice=True),
    "voip-rrul": TestDefinition("a call beside rrul_be", _BEST_EFFORT, _BEST_EFFORT, _UDP_BE, voice=True),
}
