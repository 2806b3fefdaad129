"""Which of Flent's tests a scenario's traffic is, and what the series of its flows are called there.

Data of `forward` flows are downloads, as for a client behind the bottleneck. A group of flows of kind `request` is a
ping: each question a packet there and one back. A group of kind `voice` is a call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.base.errors import InputError, known_name
from sojourn.base.units import seconds
from sojourn.io.flent.tests import TESTS, WAYS, Definition, control, dscp
from sojourn.model.results.result import Result


@dataclass(frozen=True)
class Flow:
    """A flow as Flent sees it."""

    number: int
    group: int
    way: str
    """`download` or `upload`."""
    mark: str | None
    """Code point as `tests.dscp` gives it; None for best effort."""
    control: str
    rtt_ms: float


@dataclass(frozen=True)
class Traffic:
    """A test, and the names of its series."""

    test: str
    flows: tuple[Flow, ...]
    names: tuple[str, ...]
    """Of the series of each flow."""
    pings: Mapping[int, str]
    """Names of the series of groups of pings, by number of the group."""
    voice: int | None
    """Number of the group that is the test's call."""
    hosts: tuple[str, ...]
    parameters: Mapping[str, str]

    @property
    def definition(self) -> Definition:
        """What the test sends."""
        return TESTS[self.test]


def traffic_of(result: Result, test: str | None = None) -> Traffic:
    """The test that a result's traffic is; `test` names another one with the same kinds of flows."""
    flows = flows_of(result)
    groups = result.scenario.document["flows"]
    calls = [number for number, group in enumerate(groups) if group["kind"] == "voice" and _is_up(group)]
    rtts = sorted({flow.rtt_ms for flow in flows})
    if test is None:
        found = _test(flows, rtts, bool(calls))
        if found is None:
            where = result.folder or result
            raise InputError(f"{where}: no TCP flow lasts for the whole run; Flent has no test like it")
    else:
        found = known_name("--test", test, TESTS)
    definition = TESTS[found]
    names = _names(flows, found)
    if definition.voice and not calls:
        raise InputError(f"--test: {found} has a call, and the run none; add flows of kind voice in direction reverse")
    hosts = tuple(f"rtt-{rtt:g}ms" for rtt in rtts) if found.startswith("rtt_fair") else ("simulated",)
    parameters = {
        f"{way}_streams": str(sum(flow.way == way for flow in flows))
        for way, streams in definition.ways.items()
        if streams.each and not found.startswith("rtt_fair")
    }
    voice = calls[0] if definition.voice else None
    return Traffic(found, tuple(flows), names, _pings(result, found, hosts), voice, hosts, parameters)


def flows_of(result: Result) -> list[Flow]:
    """The TCP flows of a run that last for all of it, with their groups."""
    document = result.scenario.document
    found = []
    places: Counter[int] = Counter()
    for flow in result.totals["flows"]:
        number = int(flow["group"])
        group = document["flows"][number]
        if group["kind"] == "tcp" and "size" not in group:
            way = "upload" if flow["direction"] == "reverse" else "download"
            stagger_s = places[number] * seconds(group.get("rtt_stagger", "0 s"))
            rtt_ms = round(1e3 * (result.scenario.base_rtt_s(number) + stagger_s), 6)
            cc = str(group.get("cc", "cubic")).partition("@")[0]
            found.append(Flow(int(flow["id"]), number, way, _mark(group), cc, rtt_ms))
        places[number] += 1
    return found


def _is_up(group: Mapping[str, Any]) -> bool:
    return str(group.get("direction")) == "reverse"


def _mark(group: Mapping[str, Any]) -> str | None:
    """Code point of a flow group's packets as tests name it; None for best effort."""
    word = str(group.get("dscp", "CS0")).upper()
    if word.isdigit():
        number = int(word)
        word = "EF" if number == EF else f"CS{number // 8}" if number % 8 == 0 else word
    return None if word == "CS0" else word


def _test(flows: Sequence[Flow], rtts: Sequence[float], has_call: bool) -> str | None:
    down, up = (sum(flow.way == way for flow in flows) for way in WAYS)
    marks = [sorted(flow.mark or "" for flow in flows if flow.way == way) for way in WAYS]
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
    """Names of the series of flows, in their order; refused where the flows are not the test's."""
    free: dict[str, list[str]] = {}
    for way, streams in TESTS[test].ways.items():
        count = sum(flow.way == way for flow in flows)
        fewest, most = streams.bounds
        if not fewest <= count <= most:
            raise InputError(f"--test: {test} has other flows than {count} {way}s; leave it out")
        free[way] = list(streams.endings(count))
    names = []
    for flow in flows:
        # Of a test with any number of flows the class is left to the user.
        fixed = bool(TESTS[test].ways[flow.way].names)
        own = [
            ending
            for ending in free[flow.way]
            if not fixed or (dscp(ending) == flow.mark and control(ending) in (None, flow.control))
        ]
        if not own:
            about = f"{flow.control}, {flow.mark or 'best effort'}"
            raise InputError(f"--test: {test} has other flows than {flow.way} of {about}; leave it out")
        free[flow.way].remove(own[0])
        names.append(f"TCP {flow.way}{own[0].replace('{rtt}', f'{flow.rtt_ms:g}')}")
    if twice := next((one for at, one in enumerate(names) if one in names[:at]), None):
        raise InputError(f"--test: {test} has one series {twice}, and the run two such flows; leave --test out")
    return tuple(names)


def _pings(result: Result, test: str, hosts: Sequence[str]) -> dict[int, str]:
    """Names of the series of groups of pings; a group that the test has no name for has none.

    The first one without a class is ICMP's.
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
        fitting = [name for name in free if dscp(name) == mark]
        fitting.sort(key=lambda name: name != "ICMP")
        if fitting:
            free.remove(fitting[0])
            found[number] = f"Ping (ms) {fitting[0]}"
    return found


EF = 46
"""Number of its code point."""
