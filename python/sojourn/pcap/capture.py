"""A capture as a frame: one row per TCP segment or UDP datagram."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import polars as pl

from sojourn.base.errors import InputError
from sojourn.pcap.files import Cut, Frame, frames


@dataclass(frozen=True)
class Capture:
    """What a capture file holds of TCP and UDP."""

    packets: pl.DataFrame
    """Columns of `SCHEMA`, in the order of the file."""
    warning: str | None
    """A sentence about what could not be used."""


def load_capture(path: Path | str) -> Capture:
    """Read a pcap or pcapng file.

    Of a file that was cut off, what is complete is used; other protocols and later fragments are left out. Both are
    said in `warning`.
    """
    path, cut = Path(path), Cut()
    rows, others = [], 0
    for frame in frames(path, cut):
        row = _dissect(frame)
        if row is None:
            others += 1
        else:
            rows.append(row)
    notes = [f"cut off at {cut.place}, {len(rows) + others} packets before it are used"] if cut.place else []
    notes += [f"{others} packets that are neither TCP nor UDP (or too short) are left out"] if others else []
    if not rows:
        raise InputError(f"{path}: {'; '.join(notes) or 'empty'}; there is no TCP or UDP packet to measure")
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    names = {raw: str(ip_address(raw)) for name in ("source", "destination") for raw in table[name].unique()}
    address = pl.col("source", "destination").replace_strict(names, return_dtype=pl.String)
    return Capture(table.with_columns(address), f"{path}: {'; '.join(notes)}" if notes else None)


Row = tuple[int, bytes, int, bytes, int, str, int, int, int, int, int, int, int]


def _dissect(frame: Frame) -> Row | None:
    """Return a row of `SCHEMA` with raw addresses; None for what is not whole TCP or UDP."""
    data = frame.data
    at = _network_layer(frame.link_type, data)
    if at is None or at >= len(data):
        return None
    try:
        return _ip4(frame, data, at) if data[at] >> 4 == 4 else _ip6(frame, data, at) if data[at] >> 4 == 6 else None
    except (struct.error, IndexError):
        return None


def _ip4(frame: Frame, data: bytes, at: int) -> Row | None:
    head, tos, size, identification, fragment, _, protocol = struct.unpack_from(">BBHHHBB", data, at)
    if fragment & 0x1FFF:
        return None
    size = size or frame.size - at  # zero where the sending host leaves the cutting to its network card
    source, destination = data[at + 12 : at + 16], data[at + 16 : at + 20]
    ends = (source, destination)
    return _transport(frame, data, at + 4 * (head & 15), at + size, protocol, ends, identification, tos & 3, size)


def _ip6(frame: Frame, data: bytes, at: int) -> Row | None:
    start, size, protocol = struct.unpack_from(">IHB", data, at)
    end = at + 40 + size if size else frame.size
    ends, next_at = (data[at + 8 : at + 24], data[at + 24 : at + 40]), at + 40
    while protocol in _EXTENSIONS:
        if protocol == FRAGMENT and struct.unpack_from(">H", data, next_at + 2)[0] & 0xFFF8:
            return None
        length = 8 if protocol == FRAGMENT else 8 * (1 + data[next_at + 1])
        protocol, next_at = data[next_at], next_at + length
    return _transport(frame, data, next_at, end, protocol, ends, 0, start >> 20 & 3, end - at)


def _transport(
    frame: Frame,
    data: bytes,
    at: int,
    end: int,
    protocol: int,
    ends: tuple[bytes, bytes],
    identification: int,
    ecn: int,
    ip_bytes: int,
) -> Row | None:
    if protocol == TCP:
        sport, dport, seq, ack, words = struct.unpack_from(">HHIIH", data, at)
        payload, flags = end - at - 4 * (words >> 12), words & 0xFF
    elif protocol == UDP:
        sport, dport, _ = struct.unpack_from(">HHH", data, at)
        seq, ack, flags, payload = 0, 0, 0, end - at - 8
    else:
        return None
    if payload < 0:
        return None
    source, destination = ends
    fixed = (frame.time_ns, source, sport, destination, dport, "tcp" if protocol == TCP else "udp")
    return (*fixed, identification, seq, ack, flags, payload, ecn, ip_bytes)


def _network_layer(link_type: int, data: bytes) -> int | None:
    """Where the IP header begins; None for a frame of another protocol or an unknown kind of link."""
    if link_type in _RAW:
        return 0
    if link_type in _LOOPBACK:
        return 4
    if link_type not in _ETHERTYPE_AT:
        return None
    kind_at, at = _ETHERTYPE_AT[link_type]
    kind = data[kind_at : kind_at + 2]
    while kind in _VLAN:
        kind, at = data[at + 2 : at + 4], at + 4
    return at if kind in _IP else None


SCHEMA = {
    "time_ns": pl.Int64,
    "source": pl.Binary,
    "source_port": pl.UInt16,
    "destination": pl.Binary,
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
TCP, UDP, FRAGMENT = 6, 17, 44
_EXTENSIONS = {0, 43, FRAGMENT, 60}
"""IPv6 extension headers: hop-by-hop, routing, fragment, destination."""
_RAW = {12, 14, 101, 228, 229}
_LOOPBACK = {0, 108}
_ETHERTYPE_AT = {1: (12, 14), 113: (14, 16), 276: (0, 20)}
"""Ethernet, Linux cooked v1 and v2: where the protocol and where the packet begins."""
_VLAN = {b"\x81\x00", b"\x88\xa8", b"\x91\x00"}
_IP = {b"\x08\x00", b"\x86\xdd"}
