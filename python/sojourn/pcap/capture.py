"""A capture as a frame: one row per TCP segment or UDP datagram."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.base.inputs import read_bytes


@dataclass(frozen=True)
class Capture:
    """What a capture file holds of TCP and UDP."""

    packets: pl.DataFrame
    """Columns of `SCHEMA`, in the order of the file."""
    blocks: pl.DataFrame
    """Blocks of SACK: `row` of the packet, sequence numbers `first` and `end` (behind the last byte)."""
    warning: str | None
    """A sentence about what could not be used."""


def load_capture(path: Path | str) -> Capture:
    """Read a pcap or pcapng file.

    Of a file that was cut off, what is complete is used; other protocols and later fragments are left out. Both are
    said in `warning`.
    """
    try:
        packets, blocks, addresses, notes = _core.read_capture(read_bytes(path, "capture"))
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(f"{path}: ") else f"{path}: {text}") from None
    names = pl.Series(addresses, dtype=pl.String)
    ends = {name: names.gather(packets[name]) for name in ("source", "destination")}
    protocol = pl.Series(["udp", "tcp"]).gather(packets["protocol"])
    table = pl.DataFrame({**packets, **ends, "protocol": protocol}).cast(SCHEMA)  # type: ignore[arg-type]
    return Capture(table, pl.DataFrame(blocks), f"{path}: {'; '.join(notes)}" if notes else None)


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
