"""A scenario's traffic made of one of Flent's tests."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sojourn import _core
from sojourn.base.errors import InputError, unknown
from sojourn.flent.tests import TESTS, WAYS, Definition, control, dscp

STEP = "200 ms"
"""Flent's step size: time between samples, and between pings."""
CALL = {"kind": "voice", "rate": "80 kbit/s", "size": "200 B", "off": "0 s"}
"""G.711: 160 B of voice 50 times a second, with the headers of RTP, UDP and IP."""
PING = {"kind": "request", "request": "32 B", "size": "32 B"}
"""Packets of 84 B there and back, as those of `ping`: with TCP's timestamps a header has 52 B."""


def definition_of(test: str) -> Definition:
    """What a test sends; an unknown name is refused with those that there are."""
    if test not in TESTS:
        raise unknown("Flent's test", test, list(TESTS))
    if test.startswith("rtt_fair"):
        raise InputError(f"--test: {test} has hosts with round-trip times of their own; write a scenario for it")
    return TESTS[test]


def flows_of_test(test: str, streams: int, rtt: str, tcp: dict[str, Any]) -> list[dict[str, Any]]:
    """Groups of flows of a test, over paths with a round-trip time of propagation; `tcp` are keys of every TCP flow.

    The home is behind the bottleneck: downloads are `forward`. Flows begin within a second, like those of `compare`;
    Flent's begin together, a few seconds (`--delay`) after its pings, which is left out.
    """
    definition = definition_of(test)
    found: list[dict[str, Any]] = []
    for way, direction in zip(WAYS, ("forward", "reverse"), strict=True):
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
        found.append(CALL | {"direction": "reverse", "rtt": rtt})
    return found


def _count(definition: Definition, way: str, streams: int) -> int:
    own = definition.ways[way]
    return streams if own.each and not own.count else int(own.bounds[0])


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


PROBES = {"flows": STEP, "transfers": True}
"""What the data of a test are made from; those of a call also take `packets`."""
