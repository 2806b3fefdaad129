"""Where two runs of a scenario part: the first packet at a bottleneck that comes out of order, or fares otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from sojourn.model.results.result import Result
from sojourn.model.results.words import FATES

SHIFT_NS = 1_000_000
"""What the arrivals of the same packet may differ by: ns-2 writes whole microseconds, and where rates divide no
nanosecond, its times have fractions of one."""
LARGEST_CONTROL = 60
"""Packets up to this many bytes carry nothing; their size does not count."""


ORDER, FATE, TICKS, TIME, END = "order", "fate", "ticks", "time", "end"
"""How two packets differ: in flow or size, in what becomes of them, by whole ticks, in time; or one run has ended."""
TICK_NS = 10_000_000
"""A tick of ns-2's agents, `tcpTick_`."""
EXACT_NS = 2_000
"""What whole ticks may be off by: a microsecond of the trace, and fractions of one on either side."""


@dataclass(frozen=True)
class Parting:
    """The first packet that differs, in the words of a trace: `+` or `d`, arrival in s, flow, bytes."""

    there: str
    here: str
    before: int
    """Packets until then."""
    how: str = ORDER


def parting(there: Result, here: Result, link: int = 0) -> Parting | None:
    """Return where they part; none if they do not. Both have recorded every packet (`probes.packets`)."""
    packets = [_packets(run, link) for run in (there, here)]
    length = min(len(one) for one in packets)
    for number, (mine, other) in enumerate(zip(*packets, strict=False)):
        if mine[1:] != other[1:] or abs(mine[0] - other[0]) > SHIFT_NS:
            return Parting(_line(mine), _line(other), number, how(mine, other))
    if len(packets[0]) == len(packets[1]):
        return None
    first, second = (_line(one[length]) if len(one) > length else "nothing more" for one in packets)
    return Parting(first, second, length, END)


Packet = tuple[int, str, int, int]


def _packets(run: Result, link: int) -> Sequence[Packet]:
    """Arrival, what became of it, flow and bytes, in the order of arrival."""
    frame = run.table("packets").filter(pl.col("link") == link).sort("arrival")
    rows = frame.select(pl.col("time_ns") - pl.col("sojourn_ns"), "fate", "flow", "bytes").iter_rows()
    return [
        (at, "+" if FATES[fate] in ("sent", "marked") else "d", flow, size if size > LARGEST_CONTROL else 0)
        for at, fate, flow, size in rows
    ]


def how(mine: Packet, other: Packet) -> str:
    """Tell how two packets at the same place of two runs differ."""
    apart = abs(mine[0] - other[0])
    if mine[2:] != other[2:]:
        return ORDER
    if mine[1] != other[1] and apart <= SHIFT_NS:
        return FATE
    rest = apart % TICK_NS
    return TICKS if apart > SHIFT_NS and min(rest, TICK_NS - rest) <= EXACT_NS else TIME


def _line(packet: Packet) -> str:
    at, kind, flow, size = packet
    return f"{kind} {at / 1e9:.6f} flow {flow}{f' {size} B' if size else ''}"
