"""The trace that the guest's kernel writes: every packet at the bottleneck's queues, and what became of it.

Between them stand the time-outs of TCP: when the retransmission timer of a connection ran out.
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
"""Of the packets that `_core.summarise` takes, among which there are no time-outs."""
BEFORE_NS = 1
"""So long before its instant a change comes: before what else happens then."""
SERVER_PORT = 5001
_SOURCE_NETS = (1, 3)
"""The second number of the addresses of data's sources: forward and reverse."""


def read_trace(path: Path) -> npt.NDArray[Any]:
    """Events in the order of time."""
    raw = path.read_bytes()
    if len(raw) % EVENT.itemsize:
        raise MissingError(f"the guest's trace is cut off after {len(raw)} bytes; is there space left?")
    return np.frombuffer(raw, EVENT)


def entries(
    events: npt.NDArray[Any],
    start_ns: int,
    opened: Sequence[OpenedFlow],
    groups: Sequence[int],
    replacements: Sequence[tuple[int, int]] = (),
) -> Mapping[str, npt.NDArray[Any]]:
    """Columns of the packets as `_core.summarise` takes them; `groups` has the group of each source."""
    events = mark_replaced(events[events["what"] != TIMED_OUT], replacements)
    from_source = _from_source(events)
    source = np.where(from_source, events["source"], events["destination"]) & 0xFFFF
    group = np.asarray(groups, np.uint32)[np.minimum(source, len(groups) - 1)]
    near, far = 2 * group, 2 * group + 1
    return {
        "time_ns": events["at"] - np.uint64(start_ns),
        "what": events["what"].copy(),
        "link": events["link"].copy(),
        "packet": events["id"].copy(),
        "flow": _flows(events, opened),
        "bytes": events["bytes"].copy(),
        "segments": events["segments"].copy(),
        "ecn": events["ecn"].copy(),
        "from_host": np.where(from_source, near, far).astype(np.uint32),
        "to_host": np.where(from_source, far, near).astype(np.uint32),
    }


def mark_replaced(events: npt.NDArray[Any], replacements: Sequence[tuple[int, int]]) -> npt.NDArray[Any]:
    """Events in which what was freed with its queue, at the instant when another one took its place, is `REPLACED`."""
    events = events.copy()
    for at, link in replacements:
        gone = (events["what"] == DROPPED) & (events["link"] == link)
        events["what"][gone & (events["at"] >= at) & (events["at"] <= at + BEFORE_NS)] = REPLACED
    return events


def timeouts(events: npt.NDArray[Any], opened: Sequence[OpenedFlow]) -> dict[int, int]:
    """How often the retransmission timer ran out at the data's source, by flow; one without is left out."""
    late = events[(events["what"] == TIMED_OUT) & _from_source(events)]
    numbers, counts = np.unique(_flows(late, opened), return_counts=True)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))


def _from_source(events: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Whether it was the data's source that sent a packet, or timed out."""
    return np.isin((events["source"] >> 16) & 255, _SOURCE_NETS)


def _flows(events: npt.NDArray[Any], opened: Sequence[OpenedFlow]) -> npt.NDArray[Any]:
    """Number of the flow that each event belongs to, by source and port."""
    if not len(events):
        return np.zeros(0, np.uint32)
    source = np.where(_from_source(events), events["source"], events["destination"]) & 0xFFFF
    port = np.where(events["source_port"] == SERVER_PORT, events["destination_port"], events["source_port"])
    keys = source.astype(np.uint32) << 16 | port.astype(np.uint32)
    known = sorted((one.source << 16 | one.port, one.flow) for one in opened)
    names = np.array([key for key, _ in known], np.uint32)
    places = np.minimum(np.searchsorted(names, keys), max(len(names) - 1, 0))
    if not len(names) or (names[places] != keys).any():
        raise MissingError(
            "the guest's trace has a packet that belongs to no flow; is this the kernel of this version?"
        )
    return np.array([flow for _, flow in known], np.uint32)[places]
