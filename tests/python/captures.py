"""Synthetic capture files for the tests of captures."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

CLIENT, SERVER = (bytes([10, 0, 0, 1]), 4000), (bytes([10, 0, 0, 2]), 80)
ACK, SYN = 0x10, 0x02


@dataclass
class Segment:
    """A TCP segment with a timestamp; the IP packet has no checksum, as with checksum offload."""

    time_ns: int
    seq: int = 0
    payload: int = 0
    ack: int = 0
    back: bool = False
    flags: int = ACK
    identification: int = 0

    def ip4(self) -> bytes:
        (source, sport), (target, dport) = (SERVER, CLIENT) if self.back else (CLIENT, SERVER)
        head = struct.pack(">BBHHHBBH", 0x45, 0, 40 + self.payload, self.identification, 0x4000, 64, 6, 0)
        words = struct.pack(
            ">HHIIHHHH", sport, dport, self.seq % 2**32, self.ack % 2**32, 0x5000 | self.flags, 99, 0, 0
        )
        return head + source + target + words + bytes(self.payload)

    def ip6(self) -> bytes:
        (source, sport), (target, dport) = (SERVER, CLIENT) if self.back else (CLIENT, SERVER)
        words = struct.pack(">HHIIHHHH", sport, dport, self.seq, self.ack, 0x5000 | self.flags, 99, 0, 0)
        # An eight-byte hop-by-hop header before TCP.
        size = 8 + len(words) + self.payload
        addresses = bytes(12) + source + bytes(12) + target
        return (
            struct.pack(">IHBB", 6 << 28, size, 0, 64)
            + addresses
            + bytes([6, 0] + [0] * 6)
            + words
            + bytes(self.payload)
        )


def ethernet(packet: bytes, *, vlan: bool = False) -> bytes:
    kind = b"\x86\xdd" if packet[0] >> 4 == 6 else b"\x08\x00"
    # Ethernet pads short frames: the padding is not part of the IP packet.
    return bytes(12) + (b"\x81\x00\x00\x07" if vlan else b"") + kind + packet + bytes(max(0, 46 - len(packet)))


def cooked(packet: bytes) -> bytes:
    return bytes(14) + b"\x08\x00" + packet


def pcap(
    frames: list[tuple[int, bytes]], *, order: str = "<", nano: bool = False, link: int = 1, snap: int = 65535
) -> bytes:
    magic, unit = (0xA1B23C4D, 1) if nano else (0xA1B2C3D4, 1000)
    data = bytearray(struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snap, link))
    for time_ns, frame in frames:
        kept = frame[:snap]
        seconds, rest = divmod(time_ns, 10**9)
        data += struct.pack(order + "IIII", seconds, rest // unit, len(kept), len(frame)) + kept
    return bytes(data)


def pcapng(
    frames: list[tuple[int, bytes]], *, order: str = "<", link: int = 1, resolution: int | None = 9, offset_s: int = 0
) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        size = struct.pack(order + "I", 12 + len(body))
        return struct.pack(order + "I", kind) + size + body + size

    options = b""
    if resolution is not None:
        options += struct.pack(order + "HH", 9, 1) + bytes([resolution, 0, 0, 0])
    if offset_s:
        options += struct.pack(order + "HHq", 14, 8, offset_s)
    ticks = 10**6 if resolution is None else 2 ** (resolution & 127) if resolution & 128 else 10**resolution
    data = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    data += block(1, struct.pack(order + "HHI", link, 0, 0) + options + bytes(4 if options else 0))
    data += block(5, bytes(12))  # statistics block, to be skipped
    for time_ns, frame in frames:
        # Round up if nanoseconds are no whole ticks, so that rounding down restores them.
        up = 10**9 - 1 if ticks > 10**9 else 0
        stamp = ((time_ns - offset_s * 10**9) * ticks + up) // 10**9
        head = struct.pack(order + "IIIII", 0, stamp >> 32, stamp & 0xFFFFFFFF, len(frame), len(frame))
        data += block(6, head + frame)
    return data


def frames(path: Path) -> list[tuple[bytes, int]]:
    """Captured bytes and wire length of each packet of a pcapng file of ours, in order."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        kind, size = struct.unpack_from("=II", data, at)
        if kind == 6:  # an enhanced packet block
            kept, length = struct.unpack_from("=II", data, at + 20)
            found.append((data[at + 28 : at + 28 + kept], length))
        at += size
    return found


def lengths(path: Path) -> list[int]:
    """Wire lengths of the packets of a pcapng file, in order."""
    return [length for _, length in frames(path)]
