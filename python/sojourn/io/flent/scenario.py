"""A scenario's traffic made of one of Flent's tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sojourn import _core
from sojourn.base.errors import InputError, known_name
from sojourn.io.flent.tests import TESTS, WAYS, Definition, control, dscp

STEP = "200 ms"
"""Flent's step size: time between samples, and between pings."""
DIRECTIONS = ("forward", "reverse")
"""Those of downloads and uploads."""
CALL = {"kind": "voice", "rate": "80 kbit/s", "size": "200 B", "off": "0 s"}
"""G.711: 160 B of voice 50 times a second, with the headers of RTP, UDP and IP."""
PING = {"kind": "request", "request": "32 B", "size": "32 B"}
"""Packets of 84 B there and back, as those of `ping`: with TCP's timestamps a header has 52 B."""


def definition_of(test: str) -> Definition:
    """What a test sends; an unknown name is refused with those that there are."""
    return TESTS[known_name("Flent's test", test, TESTS)]


def flows_of_test(test: str, streams: int, rtts: Sequence[str], tcp: dict[str, Any]) -> list[dict[str, Any]]:
    """Groups of flows of a test, over paths with round-trip times of propagation; `tcp` are keys of every TCP flow.

    A test with several hosts has one behind each of `rtts`, at least two; the others have a single path. The home is
    behind the bottleneck: downloads are `forward`. Flows begin within a second, like those of `compare`; Flent's begin
    together, a few seconds (`--delay`) after its pings, which is left out.
    """
    definition = definition_of(test)
    if definition.takes_hosts:
        spelled = [f"{_core.duration_ns(rtt) / 1e6:g} ms" for rtt in rtts]
        if len(set(spelled)) < max(2, len(rtts)):
            raise InputError(f"--rtt: {test} has hosts at different distances; give some, e.g. --rtt 20ms,50ms,100ms")
        return [group for rtt in spelled for group in _between(definition, 1, rtt, tcp)]
    [rtt] = rtts
    return _between(definition, streams, rtt, tcp)


def _between(definition: Definition, streams: int, rtt: str, tcp: dict[str, Any]) -> list[dict[str, Any]]:
    """Groups of flows between the home and a host."""
    found: list[dict[str, Any]] = []
    for way, direction in zip(WAYS, DIRECTIONS, strict=True):
        kinds = Counter(
            (dscp(ending), control(ending)) for ending in definition.ways[way].endings(_count(definition, way, streams))
        )
        for (mark, cc), count in kinds.items():
            own = {"kind": "tcp", "count": count, "direction": direction, "rtt": rtt, "spread": "1 s", **tcp}
            found.append(own | _given({"dscp": mark, "cc": cc}))
    gap_ns = max(0, _core.duration_ns(STEP) - _core.duration_ns(rtt))
    timing = {"gap": f"{gap_ns} ns", "rtt": rtt, "spread": STEP}
    found += [PING | timing | _given({"dscp": dscp(name)}) for name in definition.pings]
    if definition.voice:
        found += [CALL | {"direction": direction, "rtt": rtt} for direction in reversed(DIRECTIONS)]
    return found


def _count(definition: Definition, way: str, streams: int) -> int:
    own = definition.ways[way]
    return streams if own.each and not own.count else int(own.bounds[0])


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


PROBES = {"flows": STEP, "transfers": True}
"""What the data of a test are made from; those of a call also take `packets`."""
