"""Trace of the guest's kernel: arrivals and fates of the packets at the bottlenecks' queues.

It also has the timeouts of TCP's retransmission timers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.base.errors import MissingError
from sojourn.engines.endpoint_log import OpenedFlow

if TYPE_CHECKING:
    import numpy.typing as npt

    from sojourn.engines.kernel.hosts import HostTable

EVENT = np.dtype(
    [
        ("at", "<u8"),
        ("id", "<u4"),
        ("bytes", "<u4"),
        ("source", "<u4"),
        ("destination", "<u4"),
        ("source_port", "<u2"),
        ("destination_port", "<u2"),
        ("what", "u1"),
        ("link", "u1"),
        ("ecn", "u1"),
        ("protocol", "u1"),
        ("segments", "<u2"),
        ("flags", "<u2"),
    ]
)
"""`struct event` of sojourn-kernel's trace.c."""
OFFERED, SENT, DROPPED, REFUSED, TIMED_OUT = range(5)
REPLACED = TIMED_OUT
"""Event code for `_core.summarise`, whose input has no timeouts."""
REASONS = 5
"""Event code for `_core.summarise` of a drop for the first reason; the others follow."""
TCP_FLAGS = 9
"""Bits of the TCP flags; above them an event has the number of a drop's reason, from 1, or 0 if it is unknown."""
BEFORE_NS = 1
"""Lead of a change before its nominal time, so that it precedes all other events at that time."""
SERVER_PORT = 5001
_SOURCE_NETS = (1, 3)
"""Second octet of the data sources' addresses, forward and reverse."""


def read_trace(path: Path) -> npt.NDArray[Any]:
    """Read events, in order of time."""
    raw = path.read_bytes()
    if len(raw) % EVENT.itemsize:
        raise MissingError(f"the guest's trace is truncated after {len(raw)} bytes; is the disk full?")
    return np.frombuffer(raw, EVENT)


def entries(
    events: npt.NDArray[Any],
    start_ns: int,
    opened: Sequence[OpenedFlow],
    hosts: HostTable,
    replacements: Sequence[tuple[int, int]] = (),
) -> Mapping[str, npt.NDArray[Any]]:
    """Columns of the events for `_core.summarise`."""
    events = mark_replaced(events[events["what"] != TIMED_OUT], replacements)
    from_source = _from_source(events)
    source = np.where(from_source, events["source"], events["destination"]) & 0xFFFF
    near, far = hosts.numbers[np.minimum(source, len(hosts.numbers) - 1)].T
    return {
        "time_ns": events["at"] - np.uint64(start_ns),
        "what": codes(events),
        "link": events["link"].astype(np.uint16),
        "packet": events["id"].copy(),
        "flow": _flows(events, opened),
        "bytes": events["bytes"].copy(),
        "segments": events["segments"].copy(),
        "ecn": events["ecn"].copy(),
        "from_host": np.where(from_source, near, far).astype(np.uint32),
        "to_host": np.where(from_source, far, near).astype(np.uint32),
    }


def mark_replaced(events: npt.NDArray[Any], replacements: Sequence[tuple[int, int]]) -> npt.NDArray[Any]:
    """Mark drops at the time of a replacement, i.e. packets freed with the old queue, as `REPLACED`."""
    events = events.copy()
    for at, link in replacements:
        dropped = (events["what"] == DROPPED) & (events["link"] == link)
        events["what"][dropped & (events["at"] >= at) & (events["at"] <= at + BEFORE_NS)] = REPLACED
    return events


def codes(events: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Codes of the events for `_core.summarise`: a drop has the reason of Sojourn's discipline if the trace has it."""
    reason = events["flags"] >> TCP_FLAGS
    is_known = np.isin(events["what"], (DROPPED, REFUSED)) & (reason > 0)
    return np.where(is_known, REASONS + reason - 1, events["what"]).astype(np.uint8)


def timeouts(events: npt.NDArray[Any], opened: Sequence[OpenedFlow]) -> dict[int, int]:
    """Retransmission timeouts of the data sources by flow, without flows that had none."""
    expired = events[(events["what"] == TIMED_OUT) & _from_source(events)]
    numbers, counts = np.unique(_flows(expired, opened), return_counts=True)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))


def _from_source(events: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Mask of events whose packet or timeout is of the data source."""
    return np.isin((events["source"] >> 16) & 255, _SOURCE_NETS)


def _flows(events: npt.NDArray[Any], opened: Sequence[OpenedFlow]) -> npt.NDArray[Any]:
    """Flow number of each event, by source and port."""
    if not len(events):
        return np.zeros(0, np.uint32)
    source = np.where(_from_source(events), events["source"], events["destination"]) & 0xFFFF
    port = np.where(events["source_port"] == SERVER_PORT, events["destination_port"], events["source_port"])
    keys = source.astype(np.uint32) << 16 | port.astype(np.uint32)
    by_key = sorted((one.source << 16 | one.port, one.flow) for one in opened)
    keys_sorted = np.array([key for key, _ in by_key], np.uint32)
    places = np.minimum(np.searchsorted(keys_sorted, keys), max(len(keys_sorted) - 1, 0))
    if not len(keys_sorted) or (keys_sorted[places] != keys).any():
        raise MissingError(
            "the guest's trace has a packet that belongs to no flow; is this the kernel of this version?"
        )
    return np.array([flow for _, flow in by_key], np.uint32)[places]
