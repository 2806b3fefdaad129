"""Mapping of a scenario's traffic to one of Flent's tests, and the names of its flows' series.

`forward` flows are downloads, as for a client downstream of the bottleneck. A flow group of kind `request` is a ping,
with a packet in each direction. A group of kind `voice` is a call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.base.errors import InputError, known_name
from sojourn.base.units import seconds
from sojourn.io.flent.tests import DIRECTIONS, TESTS, TestDefinition, control, dscp
from sojourn.model.results.result import Result


@dataclass(frozen=True)
class Flow:
    """A flow of a Flent test."""

    number: int
    group: int
    direction: str
    """`download` or `upload`."""
    mark: str | None
    """DSCP as in `tests.dscp`; None for best effort."""
    control: str
    rtt_ms: float


@dataclass(frozen=True)
class Traffic:
    """A test and the names of its series."""

    test: str
    flows: tuple[Flow, ...]
    names: tuple[str, ...]
    """Name of each flow's series."""
    pings: Mapping[int, str]
    """Series of pings by number of the flow group."""
    voice: int | None
    """Number of the flow group of the test's call."""
    hosts: tuple[str, ...]
    parameters: Mapping[str, str]

    @property
    def definition(self) -> TestDefinition:
        """Definition of the test."""
        return TESTS[self.test]


def traffic_of(result: Result, test: str | None = None) -> Traffic:
    """Test that matches a result's traffic; `test` selects another with the same kinds of flows.

    Raises `InputError` if none matches, or if the run lacks flows of `test`.
    """
    flows = flows_of(result)
    groups = result.scenario.document["flows"]
    calls = [number for number, group in enumerate(groups) if group["kind"] == "voice" and _is_upload(group)]
    rtts = sorted({flow.rtt_ms for flow in flows})
    if test is None:
        found = _test(flows, rtts, bool(calls))
        if found is None:
            where = result.folder or result
            raise InputError(f"{where}: no TCP flow lasts for the whole run; no test of Flent matches")
    else:
        found = known_name("--test", test, TESTS)
    definition = TESTS[found]
    names = _names(flows, found)
    if definition.voice and not calls:
        raise InputError(f"--test: {found} has a call, and the run none; add flows of kind voice in direction reverse")
    hosts = tuple(f"rtt-{rtt:g}ms" for rtt in rtts) if found.startswith("rtt_fair") else ("simulated",)
    parameters = {
        f"{direction}_streams": str(sum(flow.direction == direction for flow in flows))
        for direction, streams in definition.by_direction.items()
        if streams.each and not found.startswith("rtt_fair")
    }
    voice = calls[0] if definition.voice else None
    return Traffic(found, tuple(flows), names, _pings(result, found, hosts), voice, hosts, parameters)


def flows_of(result: Result) -> list[Flow]:
    """Long-lived TCP flows of a run."""
    document = result.scenario.document
    found = []
    counts: Counter[int] = Counter()
    for flow in result.totals["flows"]:
        number = int(flow["group"])
        group = document["flows"][number]
        if group["kind"] == "tcp" and "size" not in group:
            direction = "upload" if flow["direction"] == "reverse" else "download"
            stagger_s = counts[number] * seconds(group.get("rtt_stagger", "0 s"))
            rtt_ms = round(1e3 * (result.scenario.base_rtt_s(number) + stagger_s), 6)
            cc = str(group.get("cc", "cubic")).partition("@")[0]
            found.append(Flow(int(flow["id"]), number, direction, _mark(group), cc, rtt_ms))
        counts[number] += 1
    return found


def _is_upload(group: Mapping[str, Any]) -> bool:
    return str(group.get("direction")) == "reverse"


def _mark(group: Mapping[str, Any]) -> str | None:
    """DSCP of a flow group in the tests' notation; None for best effort."""
    word = str(group.get("dscp", "CS0")).upper()
    if word.isdigit():
        number = int(word)
        word = "EF" if number == EF else f"CS{number // 8}" if number % 8 == 0 else word
    return None if word == "CS0" else word


def _test(flows: Sequence[Flow], rtts: Sequence[float], has_call: bool) -> str | None:
    down, up = (sum(flow.direction == direction for flow in flows) for direction in DIRECTIONS)
    marks = [sorted(flow.mark or "" for flow in flows if flow.direction == direction) for direction in DIRECTIONS]
    if not flows:
        return "voip" if has_call else None
    if len(rtts) > 1 and len(rtts) == max(down, up) and min(down, up) in (0, len(rtts)):
        return "rtt_fair_var" if up and down else "rtt_fair_var_up" if up else "rtt_fair_var_down"
    if (down, up) == (4, 4):
        four = sorted(dscp(name) or "" for name in TESTS["rrul"].down.names)
        return "rrul" if marks == [four, four] else "rrul_be"
    if up and down:
        return "tcp_bidirectional" if (down, up) == (1, 1) else "rrul_be_nflows"
    if up:
        return "tcp_upload" if up == 1 else "tcp_nup"
    return "tcp_download" if down == 1 else "tcp_ndown"


def _names(flows: Sequence[Flow], test: str) -> tuple[str, ...]:
    """Names of the flows' series, in order; raises `InputError` if the flows do not match the test."""
    free: dict[str, list[str]] = {}
    for direction, streams in TESTS[test].by_direction.items():
        count = sum(flow.direction == direction for flow in flows)
        minimum, maximum = streams.bounds
        if not minimum <= count <= maximum:
            raise InputError(f"--test: {test} has other flows than {count} {direction}s; leave it out")
        free[direction] = list(streams.endings(count))
    names = []
    for flow in flows:
        # In a test with a variable number of flows the user chooses the class.
        fixed = bool(TESTS[test].by_direction[flow.direction].names)
        matching = [
            ending
            for ending in free[flow.direction]
            if not fixed or (dscp(ending) == flow.mark and control(ending) in (None, flow.control))
        ]
        if not matching:
            kind = f"{flow.control}, {flow.mark or 'best effort'}"
            raise InputError(f"--test: {test} has other flows than {flow.direction} of {kind}; leave it out")
        free[flow.direction].remove(matching[0])
        names.append(f"TCP {flow.direction}{matching[0].replace('{rtt}', f'{flow.rtt_ms:g}')}")
    if duplicate := next((one for at, one in enumerate(names) if one in names[:at]), None):
        raise InputError(f"--test: {test} has one series {duplicate}, but the run has two such flows; leave --test out")
    return tuple(names)


def _pings(result: Result, test: str, hosts: Sequence[str]) -> dict[int, str]:
    """Series of the flow groups that are pings, as far as the test has names for them.

    The first best-effort group is the ICMP ping.
    """
    free = list(TESTS[test].pings)
    found: dict[int, str] = {}
    for number, group in enumerate(result.scenario.document["flows"]):
        if group["kind"] != "request":
            continue
        if test.startswith("rtt_fair"):
            host = f"rtt-{round(1e3 * result.scenario.base_rtt_s(number), 6):g}ms"
            name = f"Ping (ms) ICMP {host}"
            if host in hosts and name not in found.values():
                found[number] = name
            continue
        mark = _mark(group)
        candidates = [name for name in free if dscp(name) == mark]
        candidates.sort(key=lambda name: name != "ICMP")
        if candidates:
            free.remove(candidates[0])
            found[number] = f"Ping (ms) {candidates[0]}"
    return found


EF = 46
"""DSCP of Expedited Forwarding (RFC 3246)."""
