"""A scenario's traffic in Tcl: an agent at each end of every flow, and its sending times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.engines.ns2 import web
from sojourn.engines.ns2.agents import EndNodes, PlannedSources, agent, windows
from sojourn.engines.ns2.network import DATAGRAMS, Group, Network, seconds
from sojourn.engines.ns2.refuse import refuse
from sojourn.engines.values import bits, octets

AGENTS = {
    ("reno", False): ("TCP/Reno", "TCPSink"),
    ("newreno", False): ("TCP/Newreno", "TCPSink"),
    ("reno", True): ("TCP/Sack1", "TCPSink/Sack1"),
    ("newreno", True): ("TCP/Sack1", "TCPSink/Sack1"),
}
"""By congestion control and `sack`: the sender's and the receiver's agent. `TCP/Sack1` is Reno with SACK."""
PER_LINE = 8
EMPTY = '""'
TCP = """proc tcp {i kind sink size window initial ecn} {
    global ns tcp ftp sinks
    set tcp($i) [new Agent/$kind]
    set sinks($i) [new Agent/$sink]
    $tcp($i) set fid_ $i
    $tcp($i) set packetSize_ $size
    $tcp($i) set window_ $window
    $tcp($i) set windowInit_ $initial
    $tcp($i) set ecn_ $ecn
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    return [list $tcp($i) $sinks($i)]
}"""
UDP = """proc udp {i size} {
    global udp
    set udp($i) [new Agent/UDP]
    $udp($i) set fid_ $i
    $udp($i) set packetSize_ $size
    return [list $udp($i) [new Agent/Null]]
}
# Send a datagram at each time, from index k on.
proc datagram {i size k} {
    global ns udp times
    $udp($i) send $size
    incr k
    if {$k < [llength $times($i)]} { $ns at [lindex $times($i) $k] "datagram $i $size $k" }
}"""
JOIN = """# Return a source's node: its own behind an access link if that has a rate.
proc home {near rate delay host} {
    global ns
    if {$rate eq ""} { return $near }
    if {$host eq ""} { set host [$ns node] }
    $ns duplex-link $host $near $rate $delay DropTail
    return $host
}
proc join {agents near far rate delay host} {
    global ns
    foreach {source sink} $agents {}
    $ns attach-agent [home $near $rate $delay $host] $source
    $ns attach-agent $far $sink
    $ns connect $source $sink
}"""


@dataclass(frozen=True)
class Traffic:
    """Tcl lines and properties of the sources."""

    lines: list[str]
    flows: list[int | None]
    """Flow number of each source, or None if it opens connections."""
    groups: list[int]
    kinds: list[str]
    """Kind of each source's flow."""


def traffic(document: Mapping[str, Any], plan: Sequence[Mapping[str, Any]], network: Network) -> Traffic:
    """Write the traffic of a canonical scenario; `plan` has the times of each source."""
    kinds = [flow["kind"] for flow in document["flows"]]
    texts = {TCP: "tcp" in kinds, UDP: any(kind in DATAGRAMS for kind in kinds), web.SCRIPT: web.KIND in kinds}
    lines = [JOIN, *(text for text, used in texts.items() if used)]
    if web.KIND in kinds:
        lines.append(f"set connections {len(plan)}")
    for group, flow in enumerate(document["flows"]):
        sources = [(index, planned) for index, planned in enumerate(plan) if planned["group"] == group]
        place = f"flows[{group}]"
        write = _WRITE.get(flow["kind"])
        if write is None:
            *others, last = _WRITE
            refuse(f"{place}.kind", f"does not send {flow['kind']}", f"choose {', '.join(others)} or {last}")
        group_lines = write(place, flow, sources, _ends(network.groups[group], group))
        lines += ["", f"# {place}", *group_lines]
    groups = [planned["group"] for planned in plan]
    source_kinds = [kinds[group] for group in groups]
    flows = [None if kind == web.KIND else flow for flow, kind in enumerate(source_kinds)]
    return Traffic(lines, flows, groups, source_kinds)


def _ends(group: Group, number: int) -> EndNodes:
    far = f"$host({2 * number + 1})" if group.sink_is_host else f"${group.far}"
    host = f"$host({2 * number})" if group.sink_is_host else EMPTY
    return EndNodes(f"${group.near}", far, f"{group.rate or EMPTY} {group.delay or EMPTY} {host}")


def _tcp(place: str, flow: Mapping[str, Any], sources: PlannedSources, ends: EndNodes) -> list[str]:
    agents = agent(place, flow, AGENTS)
    if flow.get("nagle"):
        refuse(f"{place}.nagle", "sends whole packets only", "leave it out")
    if flow.get("pause"):
        refuse(f"{place}.pause", "opens one connection for each flow", "leave it out")
    mss, window, initial = windows(place, flow)
    kind = f"{agents[0]} {agents[1]} {mss} {window} {initial} {int(flow['ecn'])}"
    starts = [f"{index} {seconds(planned['start_ns'])}" for index, planned in sources]
    body = [f"join [tcp $i {kind}] {ends.both}", f'$ns at $start "{_start_command(place, flow, mss)}"']
    lines = _foreach("i start", starts, body)
    stops = [f"{index} {seconds(one['stop_ns'])}" for index, one in sources if one["stop_ns"] is not None]
    return lines + (_foreach("i stop", stops, ['$ns at $stop "$ftp($i) stop"']) if stops else [])


def _start_command(place: str, flow: Mapping[str, Any], mss: int) -> str:
    """Command to send forever, or whole packets; the first, a SYN, carries no payload."""
    if not flow.get("size"):
        return "$ftp($i) start"
    return f"$tcp($i) advanceby {-(-octets(f'{place}.size', flow['size']) // mss) + 1}"


def _datagrams(place: str, flow: Mapping[str, Any], sources: PlannedSources, ends: EndNodes) -> list[str]:
    if flow["ecn"] != "not-ect":
        refuse(f"{place}.ecn", "sends datagrams without ECN", "leave it out")
    size = octets(f"{place}.size", flow["size"])
    lines = [f"foreach i {{{' '.join(str(index) for index, _ in sources)}}} {{ join [udp $i {size}] {ends.both} }}"]
    for index, planned in sources:
        times = np.asarray(planned["times_ns"], np.uint64)
        if not len(times):
            continue
        lines += _cbr(index, flow, size, planned, times) or _at_times(index, size, times)
    return lines


def _cbr(index: int, flow: Mapping[str, Any], size: int, planned: Mapping[str, Any], times: Any) -> list[str]:
    """Constant bit rate by ns-2's own source, which has no bursts."""
    if flow["kind"] != "cbr" or "period" in flow:
        return []
    app, rate = f"app({index})", bits("flows.rate", flow["rate"])
    lines = [
        f"set {app} [new Application/Traffic/CBR]",
        f"${app} set packetSize_ {size}",
        f"${app} set rate_ {rate}",
        f"${app} attach-agent $udp({index})",
        f'$ns at {seconds(int(times[0]))} "${app} start"',
    ]
    if planned["stop_ns"] is not None:
        lines.append(f'$ns at {seconds(planned["stop_ns"])} "${app} stop"')
    return lines


def _at_times(index: int, size: int, times: Any) -> list[str]:
    texts = [seconds(at) for at in times.tolist()]
    rows = [" ".join(texts[row : row + PER_LINE]) for row in range(0, len(texts), PER_LINE)]
    return [
        f"set times({index}) {{",
        *(f"    {row}" for row in rows),
        "}",
        f'$ns at {texts[0]} "datagram {index} {size} 0"',
    ]


def _foreach(names: str, values: Sequence[str], body: Sequence[str]) -> list[str]:
    rows = [" ".join(values[row : row + PER_LINE]) for row in range(0, len(values), PER_LINE)]
    return [f"foreach {{{names}}} {{", *(f"    {row}" for row in rows), "} {", *(f"    {line}" for line in body), "}"]


_WRITE: Mapping[str, Callable[[str, Mapping[str, Any], PlannedSources, EndNodes], list[str]]] = {
    "tcp": _tcp,
    web.KIND: web.generators,
    **dict.fromkeys(DATAGRAMS, _datagrams),
}
"""Writers of a group's lines, by kind."""
