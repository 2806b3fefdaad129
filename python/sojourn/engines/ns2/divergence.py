"""Divergence of two runs of a scenario: the first packet at a bottleneck that differs in order, time or fate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from sojourn.model.results.result import Result
from sojourn.model.results.words import FATES

SHIFT_NS = 1_000_000
"""Tolerance for the arrivals of the same packet: ns-2 writes microseconds and computes fractions of a nanosecond."""
LARGEST_CONTROL = 60
"""Packets up to this many bytes carry no payload; their sizes are not compared."""


ORDER, FATE, TICKS, TIME, END = "order", "fate", "ticks", "time", "end"
"""Kinds of difference: in flow or size, in the packet's fate, by whole ticks, in time, or one run has ended."""
TICK_NS = 10_000_000
"""A tick of ns-2's agents, `tcpTick_`."""
EXACT_NS = 2_000
"""Tolerance around whole ticks: the trace's microsecond, and rounding on both sides."""


@dataclass(frozen=True)
class Divergence:
    """The first differing packet, as trace lines of both runs: `+` or `d`, arrival in s, flow, bytes."""

    there: str
    here: str
    before: int
    """Packets before it."""
    kind: str = ORDER


def find_divergence(there: Result, here: Result, link: int = 0) -> Divergence | None:
    """First difference of two runs, if any. Both need `probes.packets`."""
    packets = [_packets(run, link) for run in (there, here)]
    length = min(len(one) for one in packets)
    for number, (a, b) in enumerate(zip(*packets, strict=False)):
        if a[1:] != b[1:] or abs(a[0] - b[0]) > SHIFT_NS:
            return Divergence(_line(a), _line(b), number, classify(a, b))
    if len(packets[0]) == len(packets[1]):
        return None
    first, second = (_line(one[length]) if len(one) > length else "nothing more" for one in packets)
    return Divergence(first, second, length, END)


Packet = tuple[int, str, int, int]


def _packets(run: Result, link: int) -> Sequence[Packet]:
    """Arrival, fate, flow and bytes of each packet, in order of arrival."""
    frame = run.table("packets").filter(pl.col("link") == link).sort("arrival")
    rows = frame.select(pl.col("time_ns") - pl.col("sojourn_ns"), "fate", "flow", "bytes").iter_rows()
    return [
        (at, "+" if FATES[fate] in ("sent", "marked") else "d", flow, size if size > LARGEST_CONTROL else 0)
        for at, fate, flow, size in rows
    ]


def classify(a: Packet, b: Packet) -> str:
    """Kind of difference between two packets at the same position."""
    apart = abs(a[0] - b[0])
    if a[2:] != b[2:]:
        return ORDER
    if a[1] != b[1] and apart <= SHIFT_NS:
        return FATE
    rest = apart % TICK_NS
    return TICKS if apart > SHIFT_NS and min(rest, TICK_NS - rest) <= EXACT_NS else TIME


def _line(packet: Packet) -> str:
    at, kind, flow, size = packet
    return f"{kind} {at / 1e9:.6f} flow {flow}{f' {size} B' if size else ''}"
