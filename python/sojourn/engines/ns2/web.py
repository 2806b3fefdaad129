"""PackMime's web traffic: ns-2's own generator and its output about connections.

The servers are at the source, as in the simulator, so the data are the responses. Every connection is its own flow,
numbered after the sources in order of opening. ns-2 draws the random numbers, from the simulator's distributions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sojourn.base.errors import MissingError
from sojourn.engines.ns2.agents import EndNodes, PlannedSources, agent, windows
from sojourn.engines.ns2.network import HEADERS, seconds

if TYPE_CHECKING:
    import polars as pl

KIND = "packmime"
AGENTS = {("reno", False): "", ("newreno", False): "/Newreno", ("reno", True): "/Sack", ("newreno", True): "/Sack"}
"""Class below `Agent/TCP/FullTcp`, which itself is Reno, by congestion control and `sack`."""
SCRIPT = """# PackMime's web traffic; each connection is a flow, numbered after the sources.
set file [expr {$argc > 0 ? [lindex $argv 0] : "out.tr"}]
proc packmime {i server client kind rate persistent settings} {
    global packmime file
    set pm [new PackMimeHTTP]
    foreach {name value} [list source $i kind $kind settings $settings] { $pm set $name $value }
    $pm set-client $client
    $pm set-server $server
    $pm set-rate $rate
    if {$persistent} { $pm set-http-1.1 }
    $pm set-samples-outfile $file.asked.$i
    $pm set-outfile $file.answered.$i
    set packmime($i) $pm
}
PackMimeHTTP instproc alloc-tcp {type} {
    $self instvar kind settings
    set tcp [new Agent/TCP/FullTcp$kind]
    foreach {name value} $settings { $tcp set $name $value }
    return $tcp
}
# Called for the server's end of a connection, then for the client's.
PackMimeHTTP instproc setup-tcp {tcp number} {
    global ns connections
    $self instvar source flow server ends
    if {![info exists flow($number)]} {
        set flow($number) $connections
        set server($number) $tcp
        set ends($number) 2
        incr connections
        puts "opened $flow($number) $source [$ns now] [$tcp set agent_addr_].[$tcp port]"
    }
    $tcp set fid_ $flow($number)
    $tcp proc done {} "$self ended $number $tcp"
}
PackMimeHTTP instproc ended {number tcp} {
    global ns
    $self instvar source flow server ends
    if {[info exists server($number)] && $server($number) eq $tcp} { $self served $number }
    if {[incr ends($number) -1] == 0} { puts "closed $flow($number) $source [$ns now]" }
    $self recycle $tcp
}
# Print the counters of a connection's server, once.
PackMimeHTTP instproc served {number} {
    $self instvar source flow server
    set tcp $server($number)
    puts "served $flow($number) $source [$tcp set ndatapack_] [$tcp set nrexmitpack_] [$tcp set nrexmit_]"
    unset server($number)
}
# At the end, print the counters of open connections and the generator's files.
PackMimeHTTP instproc last {} {
    global file
    $self instvar source server
    foreach number [lsort -integer [array names server]] { $self served $number }
    foreach what {asked answered} {
        set written [open $file.$what.$source]
        while {[gets $written line] >= 0} { puts "$what $source $line" }
        close $written
        file delete $file.$what.$source
    }
}"""

FINISH = "foreach i [lsort -integer [array names packmime]] { $packmime($i) last }"
"""Tcl line for the script's `finish`."""


def generators(place: str, flow: Mapping[str, Any], sources: PlannedSources, ends: EndNodes) -> list[str]:
    """Tcl lines of a group."""
    kind = agent(place, flow, AGENTS)
    segment, window, initial = windows(place, flow)
    # FullTcp uses Nagle's algorithm by default.
    nagle = f" nodelay_ {int(not flow['nagle'])}" if "nagle" in flow else ""
    settings = f"{{segsize_ {segment} window_ {window} windowInit_ {initial} ecn_ {int(flow['ecn'])}{nagle}}}"
    rate, persistent = float(flow["connections_per_second"]), int(flow["protocol"] == "HTTP/1.1")
    lines = []
    for index, planned in sources:
        lines.append(f'packmime {index} [home {ends.source}] {ends.sink} "{kind}" {rate!r} {persistent} {settings}')
        lines.append(f'$ns at {seconds(planned["start_ns"])} "$packmime({index}) start"')
        if planned["stop_ns"] is not None:
            lines.append(f'$ns at {seconds(planned["stop_ns"])} "$packmime({index}) stop"')
    return lines


@dataclass
class Connection:
    """A connection of the generator."""

    flow: int
    source: int
    opened_ns: int
    server: str
    """Address and port of the server."""
    closed_ns: int | None = None
    counts: tuple[int, int, int] = (0, 0, 0)
    """Data packets, retransmissions and timeouts of the server."""
    requests: list[tuple[int, int]] = field(default_factory=list)
    """Time of each request and bytes of its response."""
    responses: list[tuple[int, int, int]] = field(default_factory=list)
    """Time of each request, time when its response was complete, and bytes of the response."""


def connections(printed: Sequence[str]) -> list[Connection]:
    """Connections in order of their numbers, from the script's output."""
    found: dict[int, Connection] = {}
    servers: dict[tuple[int, str], Connection] = {}
    for line in printed:
        match line.replace(". ", ".").split():
            case ["opened", flow, source, at, server]:
                one = Connection(int(flow), int(source), _ns(at), server)
                found[one.flow] = servers[one.source, server] = one
            case ["closed", flow, _, at]:
                found[int(flow)].closed_ns = _ns(at)
            case ["served", flow, _, sent, retransmitted, timeouts]:
                found[int(flow)].counts = int(float(sent)), int(float(retransmitted)), int(float(timeouts))
            case ["asked", source, at, _, size, server]:
                servers[int(source), server].requests.append((_ns(at), int(size)))
            case ["answered", source, at, _, size, took_ms, server, _]:
                begun = _ns(at) - round(float(took_ms) * 1e6)
                servers[int(source), server].responses.append((begun, _ns(at), int(size)))
            case _:
                raise MissingError(f"unexpected output of ns-2: {line[:60]!r}")
    return list(found.values())


def _ns(text: str) -> int:
    return round(float(text) * 1e9)


def reassemble(packets: pl.DataFrame) -> tuple[list[int], list[int], list[int], list[int]]:
    """Times and cumulative bytes of new arrivals, and times and cumulative bytes of delivery in order.

    `packets` has the connection's data packets; `seq` is the number of the first byte, from 1 on.
    """
    times, arrived, at, delivered = [], [], [], []
    ahead: list[tuple[int, int]] = []  # disjoint byte ranges after a gap, in order
    total, done = 0, 1
    for time, first, size in packets.select("time_ns", "seq", "bytes").iter_rows():
        begin, end = max(first, done), first + size - HEADERS
        known = sum(max(0, min(end, there[1]) - max(begin, there[0])) for there in ahead)
        if end - begin <= known:
            continue
        total += end - begin - known
        times.append(time)
        arrived.append(total)
        ahead = _merge_ranges([*ahead, (begin, end)])
        if ahead[0][0] == done:
            done = ahead.pop(0)[1]
            at.append(time)
            delivered.append(done - 1)
    return times, arrived, at, delivered


def _merge_ranges(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge ranges that overlap or touch; sorted."""
    ranges.sort()
    found = ranges[:1]
    for begin, end in ranges[1:]:
        if begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found
