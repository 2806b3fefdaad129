"""Where two runs of a scenario part: the first event at its bottleneck that one of them has and the other has not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from sojourn.results.result import FATES, Result

ROUNDING_NS = 2000
"""What two times of the same event may differ by: ns-2 writes whole microseconds, and sojourn times are of two."""


@dataclass(frozen=True)
class Parting:
    """The first event in which they differ, in the words of a trace: `+`, `-` or `d`, time in s, flow, bytes."""

    there: str
    here: str
    before: int
    """Events until then."""


def parting(there: Result, here: Result, link: int = 0) -> Parting | None:
    """Return where they part; none if they do not. Both have recorded every packet (`probes.packets`)."""
    events = [_events(run, link) for run in (there, here)]
    length = min(len(one) for one in events)
    for number in range(length):
        first, second = (one[number] for one in events)
        if first[1:] != second[1:] or abs(first[0] - second[0]) > ROUNDING_NS:
            return Parting(_line(first), _line(second), number)
    if len(events[0]) == len(events[1]):
        return None
    return Parting(*(_line(one[length]) if len(one) > length else "nothing more" for one in events), length)


Event = tuple[int, str, int, int]


def _events(run: Result, link: int) -> Sequence[Event]:
    return sorted(_unsorted(run, link), key=lambda event: (event[0] // ROUNDING_NS, event[1:]))


def _unsorted(run: Result, link: int) -> Iterator[Event]:
    packets = run.table("packets").filter(pl.col("link") == link)
    for at, sojourn, flow, size, fate in packets.select("time_ns", "sojourn_ns", "flow", "bytes", "fate").iter_rows():
        yield at - sojourn, "+", flow, size
        yield at, "-" if FATES[fate] in ("sent", "marked") else "d", flow, size


def _line(event: Event) -> str:
    at, kind, flow, size = event
    return f"{kind} {at / 1e9:.6f} flow {flow} {size} B"
