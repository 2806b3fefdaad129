"""Serialisation of recorded packets: IPv4 with TCP or UDP, valid checksums, zero payload."""

from __future__ import annotations

import struct
from dataclasses import dataclass

SYN, FIN, ACK, ECE, CWR = 1, 2, 4, 8, 16
"""Flags of the probe `headers`."""


@dataclass(frozen=True)
class RecordedPacket:
    """A packet of the probes `packets` and `headers`; sequence numbers do not wrap."""

    identification: int
    """Identification of the packet at its sender; the lower 16 bits are written."""
    ecn: int
    """ECN field, 0 to 3."""
    source: tuple[int, int]
    """IPv4 address and port."""
    destination: tuple[int, int]
    ip_bytes: int
    """Size in bytes with the IP header."""
    seq: int = 0
    ack: int = 0
    payload: int = 0
    """Payload bytes of a TCP segment."""
    flags: int = 0
    """TCP flags; zero for a datagram."""
    ts_val: int = 0
    ts_ecr: int = 0
    sack: tuple[tuple[int, int], ...] = ()


def headers(packet: RecordedPacket) -> tuple[bytes, int]:
    """IP and transport headers of a packet, and its size in bytes with the payload."""
    if packet.flags:
        return _tcp(packet)
    return _udp(packet)


def address(host: int) -> int:
    """IPv4 address of a host number: 10.0.0.1 for host 0."""
    return NETWORK | (host + 1)


def ports(flow: int) -> tuple[int, int]:
    """Ports at the flow's source and sink; the pair is unique."""
    return FIRST_PORT + flow % PORTS, SERVICE + flow // PORTS


def _tcp(packet: RecordedPacket) -> tuple[bytes, int]:
    options = _options(packet)
    offset = 20 + len(options)
    words = (offset // 4) << 12 | _wire_flags(packet.flags)
    (_, sport), (_, dport) = packet.source, packet.destination
    fixed = struct.pack(">HHII", sport, dport, packet.seq & LOW, packet.ack & LOW if packet.flags & ACK else 0)
    before, after = fixed + struct.pack(">HH", words, WINDOW), b"\0\0" + options
    size = IP_HEADER + offset + packet.payload
    check = _transport_sum(packet, TCP, size - IP_HEADER, before + b"\0\0" + after)
    return _ip(packet, TCP, size) + before + struct.pack(">H", check) + after, size


def _udp(packet: RecordedPacket) -> tuple[bytes, int]:
    size = max(packet.ip_bytes, IP_HEADER + UDP_HEADER)
    (_, sport), (_, dport) = packet.source, packet.destination
    before = struct.pack(">HHH", sport, dport, size - IP_HEADER)
    # A checksum of zero means none (RFC 768).
    check = _transport_sum(packet, UDP, size - IP_HEADER, before) or 0xFFFF
    return _ip(packet, UDP, size) + before + struct.pack(">H", check), size


def _ip(packet: RecordedPacket, protocol: int, size: int) -> bytes:
    (source, _), (destination, _) = packet.source, packet.destination
    before = struct.pack(
        ">BBHHHBB", 0x45, packet.ecn, size, packet.identification & 0xFFFF, DONT_FRAGMENT, 64, protocol
    )
    after = struct.pack(">II", source, destination)
    return before + struct.pack(">H", checksum(before + after)) + after


def _options(packet: RecordedPacket) -> bytes:
    """TCP options that fit the space left by the recorded size, with padding.

    A stack that accounts for no options, as ns-2's, gets none.
    """
    space = min(max(packet.ip_bytes - IP_HEADER - 20 - packet.payload, 0), 40) // 4 * 4
    stamps = struct.pack(">BBII", 8, 10, packet.ts_val, packet.ts_ecr)
    if packet.flags & SYN:
        # MSS 1460, SACK permitted, timestamps, window scale.
        options = b"\2\4\5\xb4" + b"\4\2" + stamps + b"\1\3\3" + bytes([WINDOW_SCALE])
        return options if space >= len(options) else b"\1" * space
    options = b"\1\1" + stamps if space >= 12 else b""
    blocks = packet.sack[: (space - len(options) - 4) // 8] if space >= len(options) + 12 else ()
    if blocks:
        options += b"\1\1" + bytes([5, 2 + 8 * len(blocks)])
        options += b"".join(struct.pack(">II", first & LOW, end & LOW) for first, end in blocks)
    return options + b"\1" * (space - len(options))


def _wire_flags(flags: int) -> int:
    return sum(bit for flag, bit in _BITS.items() if flags & flag)


def _transport_sum(packet: RecordedPacket, protocol: int, size: int, header: bytes) -> int:
    """Checksum over pseudo header and header; the zero payload adds nothing."""
    (source, _), (destination, _) = packet.source, packet.destination
    return checksum(struct.pack(">IIBBH", source, destination, 0, protocol, size) + header)


def checksum(data: bytes) -> int:
    """Internet checksum (RFC 1071) of an even number of bytes, not all zero."""
    # 2^16 = 1 modulo 2^16 - 1, so the one's complement sum is the remainder of the whole number.
    return -int.from_bytes(data, "big") % 0xFFFF


NETWORK = 10 << 24
FIRST_PORT, PORTS, SERVICE = 10_000, 50_000, 5001
TCP, UDP = 6, 17
IP_HEADER, UDP_HEADER = 20, 8
DONT_FRAGMENT = 0x4000
LOW = 0xFFFFFFFF
WINDOW, WINDOW_SCALE = 0xFFFF, 14
"""Maximum window that can be encoded, 1 GiB, since the receiver's window is not recorded."""
_BITS = {FIN: 0x01, SYN: 0x02, ACK: 0x10, ECE: 0x40, CWR: 0x80}
