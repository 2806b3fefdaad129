"""The trace that the guest's kernel writes: every packet at the bottleneck's queues, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import MissingError

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
    ]
)
"""`struct event` of guest/gpl2/link.c."""
OFFERED, SENT, DROPPED, REFUSED = range(4)
SERVER_PORT = 5001
_SOURCE_NETS = (1, 3)
"""The second number of the addresses of data's sources: forward and reverse."""


@dataclass(frozen=True)
class Opened:
    """A flow or a connection that was opened."""

    flow: int
    source: int
    port: int
    """Of the end that connects."""


def read_trace(path: Path) -> npt.NDArray[Any]:
    """Events in the order of time."""
    raw = path.read_bytes()
    if len(raw) % EVENT.itemsize:
        raise MissingError(f"the guest's trace is cut off after {len(raw)} bytes; is there space left?")
    return np.frombuffer(raw, EVENT)


def entries(
    events: npt.NDArray[Any], start_ns: int, opened: Sequence[Opened], groups: Sequence[int]
) -> Mapping[str, npt.NDArray[Any]]:
    """Columns as `_core.summarise` takes them; `groups` has the group of each source."""
    from_source = np.isin((events["source"] >> 16) & 255, _SOURCE_NETS)
    source = np.where(from_source, events["source"], events["destination"]) & 0xFFFF
    port = np.where(events["source_port"] == SERVER_PORT, events["destination_port"], events["source_port"]).astype(
        np.uint32
    )
    group = np.asarray(groups, np.uint32)[np.minimum(source, len(groups) - 1)]
    near, far = 2 * group, 2 * group + 1
    return {
        "time_ns": events["at"] - np.uint64(start_ns),
        "what": events["what"].copy(),
        "link": events["link"].copy(),
        "packet": events["id"].copy(),
        "flow": _flows(source.astype(np.uint32) << 16 | port, opened),
        "bytes": events["bytes"].copy(),
        "ecn": events["ecn"].copy(),
        "from_host": np.where(from_source, near, far).astype(np.uint32),
        "to_host": np.where(from_source, far, near).astype(np.uint32),
    }


def _flows(keys: npt.NDArray[Any], opened: Sequence[Opened]) -> npt.NDArray[Any]:
    """Number of the flow that each packet belongs to, by source and port."""
    if not len(keys):
        return np.zeros(0, np.uint32)
    known = sorted((one.source << 16 | one.port, one.flow) for one in opened)
    names = np.array([key for key, _ in known], np.uint32)
    places = np.minimum(np.searchsorted(names, keys), max(len(names) - 1, 0))
    if not len(names) or (names[places] != keys).any():
        raise MissingError(
            "the guest's trace has a packet that belongs to no flow; is this the kernel of this version?"
        )
    return np.array([flow for _, flow in known], np.uint32)[places]
