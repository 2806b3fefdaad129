"""Names of the queues of a run, by queue number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Queue:
    """A queue: one direction of a link, or of one host of a wireless LAN."""

    name: str
    hop: int
    """Number of its bottleneck."""
    direction: str
    """Name of the direction of the bottleneck; all stations of a wireless LAN share one."""


SIDES = {"forward": "down", "reverse": "up"}
"""Directions of a shell's link (`sojourn link`) under the names of its options; down is inbound."""


def queues_of(totals: Mapping[str, Any], directions: Sequence[str] | None, *, of_shell: bool = False) -> list[Queue]:
    """Every queue of a summary by its number; `directions` are the names of all directions of a graph's links."""
    others = (name for hop in totals["hops"] for name in (hop["name"], f"{hop['name']} reverse"))
    first = SIDES.values() if of_shell else SIDES
    names = directions if directions is not None else [*first, *others]
    pairs = zip(names[::2], names[1::2], [totals, *totals["hops"]], strict=True)
    prefix = "" if directions is None else "{} "
    return [
        queue
        for number, (forward, reverse, hop) in enumerate(pairs)
        for queue in _of_hop(number, forward, reverse, prefix.format(forward), hop.get("wlan"))
    ]


def _of_hop(number: int, forward: str, reverse: str, prefix: str, wlan: Mapping[str, Any] | None) -> Iterator[Queue]:
    yield Queue(forward, number, forward)
    if wlan is None:
        yield Queue(reverse, number, reverse)
    else:
        for station in range(len(wlan["stations"])):
            yield Queue(f"{prefix}station {station}", number, reverse)
