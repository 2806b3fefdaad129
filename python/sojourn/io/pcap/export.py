"""Export of the packets at one side of a queue as a pcapng file."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import polars as pl

from sojourn import _core
from sojourn.base.errors import InputError, unknown
from sojourn.base.files import write_file
from sojourn.io.pcap.wire import RecordedPacket, address, headers, ports
from sojourn.model.results.result import Result
from sojourn.model.results.words import FATES

SIDES = ("in", "out")
BOTH = "both"


def export(result: Result, path: Path | str, *, side: str, link: str | None = None, payload: bool = False) -> int:
    """Write the packets at one side of a link's queue, and return their number.

    Side `in` has all packets with their arrival times, later drops included; side `out` has the start of their
    transmission, so that both differ by the sojourn time. The default link is the first one. `link` "both" is a tap at
    that side of the bottleneck: `in`, on the senders' side, shows packets that enter the forward queue and that leave
    the reverse one. The direction is in the packet's flags, as seen from the hosts on that side. Without `payload` only
    the headers are written. Raises `InputError` if no packet passed, or if one exceeds 65,535 bytes.
    """
    chosen = [(_number(result, link or result.link), side)] if link != BOTH else [(0, side), (1, SIDES[side == "in"])]
    tables = [_packets_at(result, number, where) for number, where in chosen]
    frame = pl.concat(tables).sort("stamp_ns", "arrival", maintain_order=True)
    if frame.is_empty():
        raise InputError(f"{result.folder or result}: no packet passed there; give a longer duration")
    name = ", ".join(f"{result.link_names[number]} {where}" for number, where in chosen)
    directions = {number: OUTBOUND if where == "in" else INBOUND for number, where in chosen if len(chosen) > 1}
    comment = f"{result.scenario.aqm}, seed {result.seed}, fingerprint {result.fingerprint}"

    def packets() -> Iterator[bytes]:
        for row, packet in zip(frame.iter_rows(named=True), _recorded_packets(result, frame), strict=True):
            head, size = headers(packet)
            data = head + bytes(size - len(head)) if payload else head
            yield _packet(row["stamp_ns"], data, size, _comment(row), directions.get(row["link"]))

    _write(path, comment, name, packets())
    return frame.height


def write_packets(path: Path | str, comment: str, name: str, packets: Iterable[tuple[int, RecordedPacket]]) -> None:
    """Write the headers of packets with their times in ns, in order, as a capture of the interface `name`."""
    blocks = (_packet(stamp_ns, *headers(packet), "", None) for stamp_ns, packet in packets)
    _write(path, comment, name, blocks)


def _write(path: Path | str, comment: str, name: str, packets: Iterable[bytes]) -> None:
    def write(file: IO[bytes]) -> None:
        file.write(_section(comment))
        file.write(_interface(name))
        file.writelines(packets)

    write_file(path, write)


def _number(result: Result, link: str) -> int:
    try:
        return result.link_number(link)
    except InputError:
        raise unknown("link", link, [*result.link_names, BOTH]) from None


def _packets_at(result: Result, link: int, side: str) -> pl.DataFrame:
    """Packets at one side of a link's queue: time of passing as `stamp_ns`, headers, fate."""
    of_link = pl.col("link") == link
    packets = result.table("packets").filter(of_link)
    if side == "out":
        packets = packets.filter(pl.col("fate") <= _MARKED)
        marked = pl.when(pl.col("fate") == _MARKED).then(pl.lit(3, pl.UInt8)).otherwise("ecn")
        packets = packets.with_columns(stamp_ns="time_ns", ecn=marked)
    else:
        waiting = result.table("waiting").filter(of_link).with_columns(stamp_ns="time_ns")
        packets = packets.with_columns(stamp_ns=pl.col("time_ns") - pl.col("sojourn_ns"))
        packets = pl.concat([packets, waiting], how="diagonal")
    packets = packets.select("stamp_ns", "link", "arrival", "flow", "ecn", "from_host", "to_host", "sojourn_ns", "fate")
    joined = packets.join(result.table("headers"), on=["link", "arrival"], how="left", validate="1:1")
    if joined["flags"].null_count():
        raise InputError(f"{result.folder or result}: some packets have no header; run it again")
    return joined


def _recorded_packets(result: Result, frame: pl.DataFrame) -> Iterator[RecordedPacket]:
    if (largest := int(frame.select(pl.col("ip_bytes").max()).item())) > MAX_BYTES:
        raise InputError(
            f"{result.folder or result}: a packet of {largest} bytes; an IPv4 packet has at most {MAX_BYTES}"
        )
    for row in frame.iter_rows(named=True):
        near, far = ports(row["flow"]) if row["to_sink"] else reversed(ports(row["flow"]))
        yield RecordedPacket(
            identification=row["arrival"],
            ecn=row["ecn"],
            source=(address(row["from_host"]), near),
            destination=(address(row["to_host"]), far),
            sack=tuple(block for n in (1, 2, 3) if (block := (row[f"sack{n}_from"], row[f"sack{n}_to"]))[1]),
            **{name: row[name] for name in _HEADER_COLUMNS},
        )


def _comment(row: dict[str, Any]) -> str:
    if row["sojourn_ns"] is None:
        return "waiting at the end of the run"
    fate = FATES[row["fate"]]
    return f"sojourn {row['sojourn_ns'] / 1e6:.6f} ms" + ("" if fate == "sent" else f", {fate}")


def _section(comment: str) -> bytes:
    body = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    return _block(0x0A0D0D0A, body, [(1, comment.encode()), (4, f"sojourn {_core.version()}".encode())])


def _interface(name: str) -> bytes:
    return _block(1, struct.pack("<HHI", RAW_IP, 0, 0), [(2, name.encode()), (9, bytes([NANOSECONDS]))])


def _packet(stamp_ns: int, data: bytes, size: int, comment: str, direction: int | None) -> bytes:
    head = struct.pack("<IIIII", 0, stamp_ns >> 32, stamp_ns & 0xFFFFFFFF, len(data), size)
    flags = [] if direction is None else [(2, struct.pack("<I", direction))]
    return _block(6, head + _padded(data), [(1, comment.encode()), *flags])


def _block(kind: int, body: bytes, options: list[tuple[int, bytes]]) -> bytes:
    parts = [struct.pack("<HH", code, len(value)) + _padded(value) for code, value in options]
    body += b"".join(parts) + b"\0\0\0\0"
    size = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + size + body + size


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


RAW_IP = 101
"""LINKTYPE_RAW: packets begin with the IP header. libpcap reads no file of this type with two interfaces."""
INBOUND, OUTBOUND = 1, 2
"""Direction in `epb_flags`."""
NANOSECONDS = 9
MAX_BYTES = 65_535
_MARKED = FATES.index("marked")
_HEADER_COLUMNS = ("ip_bytes", "seq", "ack", "payload", "flags", "ts_val", "ts_ecr")
