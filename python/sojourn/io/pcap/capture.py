"""Captures as data frames, with a row per TCP segment or UDP datagram."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.base.inputs import read_bytes
from sojourn.base.packed import head


@dataclass(frozen=True)
class Capture:
    """TCP and UDP packets of a capture file."""

    packets: pl.DataFrame
    """Columns of `SCHEMA`, in the order of the file."""
    blocks: pl.DataFrame
    """SACK blocks: `row` of the packet, sequence numbers `first` (inclusive) and `end` (exclusive)."""
    warning: str | None
    """Sentence about unusable parts of the file."""


def load_capture(path: Path | str) -> Capture:
    """Read a pcap or pcapng file, plain or compressed by gzip.

    A truncated file is read as far as it is complete; other protocols are skipped. `warning` mentions both. Raises
    `InputError`.
    """
    data = read_bytes(path, "capture")
    try:
        packets, blocks, addresses, notes = _core.read_capture(data)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    names = pl.Series(addresses, dtype=pl.String)
    ends = {name: names.gather(packets[name]) for name in ("source", "destination")}
    protocol = pl.Series(["udp", "tcp"]).gather(packets["protocol"])
    table = pl.DataFrame({**packets, **ends, "protocol": protocol}).cast(SCHEMA)  # type: ignore[arg-type]
    return Capture(table, pl.DataFrame(blocks), f"{path}: {'; '.join(notes)}" if notes else None)


def is_capture(path: Path) -> bool:
    """Whether a file, plain or compressed, has a capture's magic number; false if it cannot be read."""
    return head(path, HEAD)[:4] in MAGICS


HEAD = 1 << 9
"""Bytes of a compressed file that have its magic number."""
MAGICS = (b"\x0a\x0d\x0d\x0a", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d")
"""Magic numbers of pcapng, and of pcap with either time unit and byte order."""
SCHEMA = {
    "time_ns": pl.Int64,
    "source": pl.String,
    "source_port": pl.UInt16,
    "destination": pl.String,
    "destination_port": pl.UInt16,
    "protocol": pl.String,
    "identification": pl.UInt16,
    "seq": pl.UInt32,
    "ack": pl.UInt32,
    "flags": pl.UInt8,
    "payload": pl.UInt32,
    "ecn": pl.UInt8,
    "ip_bytes": pl.UInt32,
}
