"""Frames of a capture file: pcap (stamps in µs or ns) and pcapng, in either byte order."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sojourn.base.errors import InputError
from sojourn.base.inputs import read_bytes


@dataclass(frozen=True)
class Frame:
    """One captured frame."""

    time_ns: int
    """Since 1970."""
    link_type: int
    data: bytes
    """What was captured of it."""
    size: int
    """What it had on the wire."""


@dataclass
class Cut:
    """Where a file ends in the middle of something; empty for a whole file."""

    place: str = ""


@dataclass(frozen=True)
class _Interface:
    link_type: int
    ticks_per_s: int
    offset_ns: int


@dataclass
class _Section:
    order: str = "<"
    interfaces: list[_Interface] = field(default_factory=list)


def frames(path: Path, cut: Cut) -> Iterator[Frame]:
    """Frames of a capture in the order of the file; a file that was cut off gives those before and fills `cut`."""
    data = memoryview(read_bytes(path, "capture"))
    magic = bytes(data[:4])
    if magic == _SECTION_MAGIC:
        return _pcapng(path, data, cut)
    if magic in _PCAP:
        return _pcap(path, data, cut, *_PCAP[magic])
    raise InputError(f"{path}: not a capture; give a pcap or pcapng file (decompress it first, if it is compressed)")


def _pcap(path: Path, data: memoryview, cut: Cut, order: str, unit_ns: int) -> Iterator[Frame]:
    if len(data) < 24:
        raise InputError(f"{path}: cut off within its first header; nothing can be read")
    link_type = struct.unpack_from(order + "I", data, 20)[0] & 0xFFFF  # the upper half may tell about checksums
    record, at = struct.Struct(order + "IIII"), 24
    while at < len(data):
        if at + 16 > len(data):
            cut.place = f"byte {at}"
            return
        seconds, fraction, captured, size = record.unpack_from(data, at)
        if captured > MOST or fraction * unit_ns >= SECOND:
            raise InputError(f"{path}: byte {at} is no packet; the file is damaged")
        if at + 16 + captured > len(data):
            cut.place = f"byte {at}"
            return
        yield Frame(seconds * SECOND + fraction * unit_ns, link_type, bytes(data[at + 16 : at + 16 + captured]), size)
        at += 16 + captured


def _pcapng(path: Path, data: memoryview, cut: Cut) -> Iterator[Frame]:
    section, at = _Section(), 0
    while at < len(data):
        if at + 12 > len(data):
            cut.place = f"byte {at}"
            return
        if bytes(data[at : at + 4]) == _SECTION_MAGIC:
            section = _Section(_byte_order(path, data, at))
        kind, size = struct.unpack_from(section.order + "II", data, at)
        if size < 12 or size % 4 or size > MOST:
            raise InputError(f"{path}: byte {at}: a block of {size} bytes; the file is damaged")
        if at + size > len(data):
            cut.place = f"byte {at}"
            return
        if struct.unpack_from(section.order + "I", data, at + size - 4)[0] != size:
            raise InputError(f"{path}: byte {at}: the block's two sizes differ; the file is damaged")
        try:
            found = _block(section, kind, data[at + 8 : at + size - 4])
        except (struct.error, IndexError):
            raise InputError(f"{path}: byte {at}: a block that is too short; the file is damaged") from None
        if found is not None and not 0 <= found.time_ns < 2**63:
            raise InputError(f"{path}: byte {at}: a time after the year 2262 or before 1970; the file is damaged")
        if found is not None:
            yield found
        at += size


def _byte_order(path: Path, data: memoryview, at: int) -> str:
    for order in "<>":
        if struct.unpack_from(order + "I", data, at + 8)[0] == 0x1A2B3C4D:
            return order
    raise InputError(f"{path}: byte {at}: a section without byte order; the file is damaged")


def _block(section: _Section, kind: int, body: memoryview) -> Frame | None:
    order = section.order
    if kind == INTERFACE:
        link_type = struct.unpack_from(order + "H", body)[0]
        section.interfaces.append(_Interface(link_type, *_resolution(order, body[8:])))
        return None
    if kind == ENHANCED_PACKET:
        number, high, low, captured, size = struct.unpack_from(order + "IIIII", body)
    elif kind == PACKET:
        number, _, high, low, captured, size = struct.unpack_from(order + "HHIIII", body)
    else:  # names, statistics, a packet without a stamp
        return None
    if captured > len(body) - 20:
        raise IndexError(captured)
    interface = section.interfaces[number]
    ticks = high << 32 | low
    stamp = ticks * SECOND // interface.ticks_per_s + interface.offset_ns
    return Frame(stamp, interface.link_type, bytes(body[20 : 20 + captured]), size)


def _resolution(order: str, options: memoryview) -> tuple[int, int]:
    """Ticks per second and offset in ns; without the options, microseconds since 1970."""
    ticks, offset, at = 10**6, 0, 0
    while at + 4 <= len(options):
        code, size = struct.unpack_from(order + "HH", options, at)
        if code == 0:
            break
        if code == 9:
            exponent = options[at + 4]
            ticks = 2 ** (exponent & 0x7F) if exponent & 0x80 else 10**exponent
        elif code == 14:
            offset = struct.unpack_from(order + "q", options, at + 4)[0]
        at += 4 + size + -size % 4
    return ticks, offset * SECOND


SECOND = 10**9
MOST = 1 << 26
"""Bytes of a record; more is a damaged file."""
INTERFACE, PACKET, ENHANCED_PACKET = 1, 2, 6
_SECTION_MAGIC = b"\x0a\x0d\x0d\x0a"
_PCAP = {
    struct.pack(order + "I", magic): (order, unit_ns)
    for order in "<>"
    for magic, unit_ns in ((0xA1B2C3D4, 1000), (0xA1B23C4D, 1))
}
"""Byte order and unit of the fraction of a second, by the first four bytes."""
