"""Which of Flent's tests a scenario's traffic is, and what the series of its flows are called there.

Data of `forward` flows are downloads, as for a client behind the bottleneck. A group of flows of kind `request` is a
ping: each question a packet there and one back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.base.errors import InputError, unknown
from sojourn.base.units import seconds
from sojourn.results.result import Result

MARKS = ("BE", "BK", "CS5", "EF")
"""Classes of the four flows of `rrul` in each direction."""
_DSCP = {"CS0": "BE", "0": "BE", "CS1": "BK", "8": "BK", "CS5": "CS5", "40": "CS5", "EF": "EF", "46": "EF"}


@dataclass(frozen=True)
class Flow:
    """A flow as Flent sees it."""

    number: int
    group: int
    way: str
    """`download` or `upload`."""
    mark: str
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
    hosts: tuple[str, ...]
    parameters: Mapping[str, str]


def traffic_of(result: Result, test: str | None = None) -> Traffic:
    """The test that a result's traffic is; `test` names another one with the same kinds of flows."""
    flows = flows_of(result)
    if not flows:
        raise InputError(f"{result.folder or result}: no TCP flow lasts for the whole run; Flent has no test like it")
    rtts = sorted({flow.rtt_ms for flow in flows})
    found = _test(flows, rtts) if test is None else _chosen(flows, test)
    hosts = tuple(f"rtt-{rtt:g}ms" for rtt in rtts) if found.startswith("rtt_fair") else ("simulated",)
    parameters = {
        f"{way}_streams": str(count)
        for way in WAYS
        if (count := sum(flow.way == way for flow in flows)) and found in ("tcp_ndown", "tcp_nup", "rrul_be_nflows")
    }
    return Traffic(found, tuple(flows), _names(flows, found), _pings(result, found, hosts), hosts, parameters)


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
            found.append(Flow(int(flow["id"]), number, way, _mark(group), rtt_ms))
        places[number] += 1
    return found


def _mark(group: Mapping[str, Any]) -> str:
    """Class of a flow group's packets as Flent calls it; empty for one that it does not know."""
    return _DSCP.get(str(group.get("dscp", "CS0")).upper(), "")


def _test(flows: Sequence[Flow], rtts: Sequence[float]) -> str:
    down, up = (sum(flow.way == way for flow in flows) for way in WAYS)
    marks = [[flow.mark for flow in flows if flow.way == way] for way in WAYS]
    if len(rtts) > 1 and len(rtts) == max(down, up) and min(down, up) in (0, len(rtts)):
        return "rtt_fair_var" if up and down else "rtt_fair_var_up" if up else "rtt_fair_var_down"
    if (down, up) == (4, 4) and all(sorted(own) == sorted(MARKS) for own in marks):
        return "rrul"
    if (down, up) == (4, 4):
        return "rrul_be"
    if up and down:
        return "tcp_bidirectional" if (down, up) == (1, 1) else "rrul_be_nflows"
    if up:
        return "tcp_upload" if up == 1 else "tcp_nup"
    return "tcp_download" if down == 1 else "tcp_ndown"


def _chosen(flows: Sequence[Flow], test: str) -> str:
    """A test by name, refused where the flows are not the test's."""
    if test not in TESTS:
        raise unknown("--test", test, list(TESTS))
    down, up = (sum(flow.way == way for flow in flows) for way in WAYS)
    least, most = TESTS[test]
    if not all(low <= count <= high for count, low, high in zip((down, up), least, most, strict=True)):
        raise InputError(f"--test: {test} has other flows than {down} downloads and {up} uploads; leave it out")
    if test == "rrul" and any(flow.mark not in MARKS for flow in flows):
        raise InputError(f"--test: the flows of rrul have the classes {', '.join(MARKS)}; take rrul_be")
    return test


def _names(flows: Sequence[Flow], test: str) -> tuple[str, ...]:
    """Names of the series of flows, in their order."""
    count = dict.fromkeys(WAYS, 0)
    names = []
    for flow in flows:
        count[flow.way] += 1
        place = count[flow.way]
        if test.startswith("rtt_fair"):
            ending = f" BE rtt-{flow.rtt_ms:g}ms"
        elif test == "rrul":
            ending = f" {flow.mark}"
        elif test == "rrul_be":
            ending = f" BE{place if place > 1 else ''}"
        elif test == "rrul_be_nflows":
            ending = f" BE::{place}"
        else:
            ending = f"::{place}" if test in ("tcp_ndown", "tcp_nup") else ""
        names.append(f"TCP {flow.way}{ending}")
    if twice := next((one for at, one in enumerate(names) if one in names[:at]), None):
        raise InputError(f"--test: {test} has one series {twice}, and the run two such flows; leave --test out")
    return tuple(names)


def _pings(result: Result, test: str, hosts: Sequence[str]) -> dict[int, str]:
    """Names of the series of groups of pings."""
    found: dict[int, str] = {}
    for number, group in enumerate(result.scenario.document["flows"]):
        if group["kind"] != "request":
            continue
        mark, host = _mark(group), f"rtt-{round(1e3 * result.scenario.base_rtt_s(number), 6):g}ms"
        names = ["Ping (ms) ICMP"] if mark == "BE" else []
        names += [f"Ping (ms) UDP {mark}"] if mark and test == "rrul" else []
        if test.startswith("rtt_fair"):
            names = [f"Ping (ms) ICMP {host}"] if host in hosts else []
        free = [name for name in names if name not in found.values()]
        if free:
            found[number] = free[0]
    return found


WAYS = ("download", "upload")
MANY = 10_000
TESTS: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {
    "tcp_download": ((1, 0), (1, 0)),
    "tcp_upload": ((0, 1), (0, 1)),
    "tcp_bidirectional": ((1, 1), (1, 1)),
    "tcp_ndown": ((1, 0), (MANY, 0)),
    "tcp_nup": ((0, 1), (0, MANY)),
    "rrul": ((4, 4), (4, 4)),
    "rrul_be": ((4, 4), (4, 4)),
    "rrul_be_nflows": ((1, 1), (MANY, MANY)),
    "rtt_fair_var": ((2, 2), (MANY, MANY)),
    "rtt_fair_var_down": ((2, 0), (MANY, 0)),
    "rtt_fair_var_up": ((0, 2), (0, MANY)),
}
"""Flent's tests that results are written as: the fewest and the most downloads and uploads of each."""
