"""Traffic of one of Flent's tests for a scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sojourn import _core
from sojourn.base.errors import InputError, known_name
from sojourn.io.flent.tests import DIRECTIONS, TESTS, TestDefinition, control, dscp

STEP = "200 ms"
"""Flent's step size: the interval of samples and of pings."""
LINK_DIRECTIONS = ("forward", "reverse")
"""Directions of downloads and uploads in a scenario."""
CALL = {"kind": "voice", "rate": "80 kbit/s", "size": "200 B", "off": "0 s"}
"""G.711: 160 B of voice 50 times a second, plus the headers of RTP, UDP and IP."""
PING = {"kind": "request", "request": "32 B", "size": "32 B"}
"""Packets of 84 B in both directions, as those of `ping`; a header with TCP timestamps has 52 B."""


def definition_of(test: str) -> TestDefinition:
    """Definition of a test; raises `InputError` for an unknown name."""
    return TESTS[known_name("Flent's test", test, TESTS)]


def flows_of_test(test: str, streams: int, rtts: Sequence[str], tcp: dict[str, Any]) -> list[dict[str, Any]]:
    """Flow groups of a test over paths with these base RTTs; `tcp` has keys of every TCP flow.

    A test with several hosts has one per RTT, at least two; other tests have a single path. The home is downstream of
    the bottleneck, so downloads are `forward`. Differs: flows start within a second, as those of `compare`; Flent's
    start together, a few seconds (`--delay`) after its pings.
    """
    definition = definition_of(test)
    if definition.takes_hosts:
        formatted = [f"{_core.duration_ns(rtt) / 1e6:g} ms" for rtt in rtts]
        if len(set(formatted)) < max(2, len(rtts)):
            raise InputError(f"--rtt: {test} has hosts at different distances; give some, e.g. --rtt 20ms,50ms,100ms")
        return [group for rtt in formatted for group in _host_groups(definition, 1, rtt, tcp)]
    [rtt] = rtts
    return _host_groups(definition, streams, rtt, tcp)


def _host_groups(definition: TestDefinition, streams: int, rtt: str, tcp: dict[str, Any]) -> list[dict[str, Any]]:
    """Flow groups between the home and a host."""
    found: list[dict[str, Any]] = []
    for direction, link_direction in zip(DIRECTIONS, LINK_DIRECTIONS, strict=True):
        kinds = Counter(
            (dscp(ending), control(ending))
            for ending in definition.by_direction[direction].endings(_count(definition, direction, streams))
        )
        for (mark, cc), count in kinds.items():
            group = {"kind": "tcp", "count": count, "direction": link_direction, "rtt": rtt, "spread": "1 s", **tcp}
            found.append(group | _without_none({"dscp": mark, "cc": cc}))
    gap_ns = max(0, _core.duration_ns(STEP) - _core.duration_ns(rtt))
    timing = {"gap": f"{gap_ns} ns", "rtt": rtt, "spread": STEP}
    found += [PING | timing | _without_none({"dscp": dscp(name)}) for name in definition.pings]
    if definition.voice:
        found += [CALL | {"direction": direction, "rtt": rtt} for direction in reversed(LINK_DIRECTIONS)]
    return found


def _count(definition: TestDefinition, direction: str, streams: int) -> int:
    flows = definition.by_direction[direction]
    return streams if flows.each and not flows.count else int(flows.bounds[0])


def _without_none(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


PROBES = {"flows": STEP, "transfers": True}
"""Probes that the data of a test need; a call also needs `packets`."""
