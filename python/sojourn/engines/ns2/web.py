"""PackMime's web traffic: ns-2's own generator, and what it tells of its connections.

The servers are at the source, as in the simulator, so the answers are the data. Every connection is a flow of its own,
numbered after the sources in the order of opening. ns-2 draws: the distributions are those of the simulator, the
numbers are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sojourn.base.errors import MissingError
from sojourn.engines.ns2.agents import Ends, Planned, agent, windows
from sojourn.engines.ns2.network import HEADERS, seconds

if TYPE_CHECKING:
    import polars as pl

KIND = "packmime"
AGENTS = {("reno", False): "", ("newreno", False): "/Newreno", ("reno", True): "/Sack", ("newreno", True): "/Sack"}
"""By congestion control and `sack`: the agent below `Agent/TCP/FullTcp`, which is Reno."""
SCRIPT = """# Web traffic after PackMime; the connections are flows of their own, numbered after the sources.
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
# What the server of a connection has sent, said once.
PackMimeHTTP instproc served {number} {
    $self instvar source flow server
    set tcp $server($number)
    puts "served $flow($number) $source [$tcp set ndatapack_] [$tcp set nrexmitpack_] [$tcp set nrexmit_]"
    unset server($number)
}
# What there is to say at the end: connections that are still open, and what the generator wrote.
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
"""Line of the script's end."""


def generators(place: str, flow: Mapping[str, Any], sources: Planned, ends: Ends) -> list[str]:
    """Tcl of a group."""
    kind = agent(place, flow, AGENTS)
    segment, window, initial = windows(place, flow)
    # FullTcp has Nagle's algorithm unless it is told.
    nagle = f" nodelay_ {int(not flow['nagle'])}" if "nagle" in flow else ""
    settings = f"{{segsize_ {segment} window_ {window} windowInit_ {initial} ecn_ {int(flow['ecn'])}{nagle}}}"
    rate, persistent = float(flow["connections_per_second"]), int(flow["protocol"] == "HTTP/1.1")
    made = []
    for index, planned in sources:
        made.append(f'packmime {index} [home {ends.source}] {ends.sink} "{kind}" {rate!r} {persistent} {settings}')
        made.append(f'$ns at {seconds(planned["start_ns"])} "$packmime({index}) start"')
        if planned["stop_ns"] is not None:
            made.append(f'$ns at {seconds(planned["stop_ns"])} "$packmime({index}) stop"')
    return made


@dataclass
class Connection:
    """A connection that ns-2 opened."""

    flow: int
    source: int
    opened_ns: int
    server: str
    """Its address and port."""
    closed_ns: int | None = None
    counts: tuple[int, int, int] = (0, 0, 0)
    """Data packets of the server, those sent again, and time-outs."""
    asked: list[tuple[int, int]] = field(default_factory=list)
    """When a question was sent, and the bytes of its answer."""
    answered: list[tuple[int, int, int]] = field(default_factory=list)
    """When a question was sent, when its answer had come, and the bytes of that."""


def connections(said: Sequence[str]) -> list[Connection]:
    """Every connection in the order of its number, from what the script said."""
    found: dict[int, Connection] = {}
    servers: dict[tuple[int, str], Connection] = {}
    for line in said:
        match line.replace(". ", ".").split():
            case ["opened", flow, source, at, server]:
                one = Connection(int(flow), int(source), _ns(at), server)
                found[one.flow] = servers[one.source, server] = one
            case ["closed", flow, _, at]:
                found[int(flow)].closed_ns = _ns(at)
            case ["served", flow, _, sent, again, late]:
                found[int(flow)].counts = int(float(sent)), int(float(again)), int(float(late))
            case ["asked", source, at, _, size, server]:
                servers[int(source), server].asked.append((_ns(at), int(size)))
            case ["answered", source, at, _, size, took_ms, server, _]:
                begun = _ns(at) - round(float(took_ms) * 1e6)
                servers[int(source), server].answered.append((begun, _ns(at), int(size)))
            case _:
                raise MissingError(f"ns-2 says {line[:60]!r}, which nobody understands")
    return list(found.values())


def _ns(text: str) -> int:
    return round(float(text) * 1e9)


def came_in_order(came: pl.DataFrame) -> tuple[list[int], list[int], list[int], list[int]]:
    """When new bytes of a connection arrived, with totals, and when bytes were delivered in order, with totals.

    `came` has the packets of the data's direction; `seq` is the number of the first byte of each, from 1 on.
    """
    times, arrived, at, delivered = [], [], [], []
    ahead: list[tuple[int, int]] = []  # bytes beyond a gap, in order and apart
    total, done = 0, 1
    for time, first, size in came.select("time_ns", "seq", "bytes").iter_rows():
        begin, end = max(first, done), first + size - HEADERS
        known = sum(max(0, min(end, there[1]) - max(begin, there[0])) for there in ahead)
        if end - begin <= known:
            continue
        total += end - begin - known
        times.append(time)
        arrived.append(total)
        ahead = _joined([*ahead, (begin, end)])
        if ahead[0][0] == done:
            done = ahead.pop(0)[1]
            at.append(time)
            delivered.append(done - 1)
    return times, arrived, at, delivered


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same bytes as spans that do not touch, in order."""
    spans.sort()
    found = spans[:1]
    for begin, end in spans[1:]:
        if begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found
