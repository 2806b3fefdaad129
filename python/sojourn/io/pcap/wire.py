"""Bytes on the wire of a recorded packet: IPv4 with TCP or UDP, valid checksums, a payload of zeros."""

from __future__ import annotations

import struct
from dataclasses import dataclass

SYN, FIN, ACK, ECE, CWR = 1, 2, 4, 8, 16
"""Flags as the probe `headers` records them."""


@dataclass(frozen=True)
class Recorded:
    """A packet as the probes `packets` and `headers` know it; sequence numbers do not wrap."""

    identification: int
    """Number that tells the packets of one sender apart; its low 16 bits are written."""
    ecn: int
    """ECN field, 0 to 3."""
    source: tuple[int, int]
    """IPv4 address and port."""
    destination: tuple[int, int]
    ip_bytes: int
    """Size with the IP header."""
    seq: int = 0
    ack: int = 0
    payload: int = 0
    """Payload of a TCP segment."""
    flags: int = 0
    """Zero for a datagram."""
    ts_val: int = 0
    ts_ecr: int = 0
    sack: tuple[tuple[int, int], ...] = ()


def headers(packet: Recorded) -> tuple[bytes, int]:
    """IP and transport header of `packet`, and its size in bytes with the payload."""
    if packet.flags:
        return _tcp(packet)
    return _udp(packet)


def address(host: int) -> int:
    """IPv4 address of a host's number: 10.0.0.1 and so on."""
    return NETWORK | (host + 1)


def ports(flow: int) -> tuple[int, int]:
    """Port at the flow's source and at its sink; a pair belongs to one flow only."""
    return FIRST_PORT + flow % PORTS, SERVICE + flow // PORTS


def _tcp(packet: Recorded) -> tuple[bytes, int]:
    options = _options(packet)
    offset = 20 + len(options)
    words = (offset // 4) << 12 | _wire_flags(packet.flags)
    (_, sport), (_, dport) = packet.source, packet.destination
    fixed = struct.pack(">HHII", sport, dport, packet.seq & LOW, packet.ack & LOW if packet.flags & ACK else 0)
    before, after = fixed + struct.pack(">HH", words, WINDOW), b"\0\0" + options
    size = IP_HEADER + offset + packet.payload
    check = _transport_sum(packet, TCP, size - IP_HEADER, before + b"\0\0" + after)
    return _ip(packet, TCP, size) + before + struct.pack(">H", check) + after, size


def _udp(packet: Recorded) -> tuple[bytes, int]:
    size = max(packet.ip_bytes, IP_HEADER + UDP_HEADER)
    (_, sport), (_, dport) = packet.source, packet.destination
    before = struct.pack(">HHH", sport, dport, size - IP_HEADER)
    # Zero would say that there is none (RFC 768).
    check = _transport_sum(packet, UDP, size - IP_HEADER, before) or 0xFFFF
    return _ip(packet, UDP, size) + before + struct.pack(">H", check), size


def _ip(packet: Recorded, protocol: int, size: int) -> bytes:
    (source, _), (destination, _) = packet.source, packet.destination
    before = struct.pack(
        ">BBHHHBB", 0x45, packet.ecn, size, packet.identification & 0xFFFF, DONT_FRAGMENT, 64, protocol
    )
    after = struct.pack(">II", source, destination)
    return before + struct.pack(">H", checksum(before + after)) + after


def _options(packet: Recorded) -> bytes:
    """Options in the space that the recorded size leaves for them: those that fit, then padding.

    A stack that accounts for no options, as ns-2's, gets none.
    """
    space = min(max(packet.ip_bytes - IP_HEADER - 20 - packet.payload, 0), 40) // 4 * 4
    stamps = struct.pack(">BBII", 8, 10, packet.ts_val, packet.ts_ecr)
    if packet.flags & SYN:
        # MSS 1460, SACK permitted, timestamps, window scale.
        wanted = b"\2\4\5\xb4" + b"\4\2" + stamps + b"\1\3\3" + bytes([WINDOW_SCALE])
        return wanted if space >= len(wanted) else b"\1" * space
    made = b"\1\1" + stamps if space >= 12 else b""
    blocks = packet.sack[: (space - len(made) - 4) // 8] if space >= len(made) + 12 else ()
    if blocks:
        made += b"\1\1" + bytes([5, 2 + 8 * len(blocks)])
        made += b"".join(struct.pack(">II", first & LOW, end & LOW) for first, end in blocks)
    return made + b"\1" * (space - len(made))


def _wire_flags(flags: int) -> int:
    return sum(bit for ours, bit in _BITS.items() if flags & ours)


def _transport_sum(packet: Recorded, protocol: int, size: int, header: bytes) -> int:
    """Checksum over pseudo header and header; zeros, of which the payload is made, add nothing to it."""
    (source, _), (destination, _) = packet.source, packet.destination
    return checksum(struct.pack(">IIBBH", source, destination, 0, protocol, size) + header)


def checksum(data: bytes) -> int:
    """Internet checksum (RFC 1071) of an even number of bytes, not all zero."""
    # 2^16 = 1 modulo 2^16 - 1, so the sum of the words with carries is the remainder of the whole number.
    return -int.from_bytes(data, "big") % 0xFFFF


NETWORK = 10 << 24
FIRST_PORT, PORTS, SERVICE = 10_000, 50_000, 5001
TCP, UDP = 6, 17
IP_HEADER, UDP_HEADER = 20, 8
DONT_FRAGMENT = 0x4000
LOW = 0xFFFFFFFF
WINDOW, WINDOW_SCALE = 0xFFFF, 14
"""The largest window that can be written, 1 GiB: segments do not record the receiver's."""
_BITS = {FIN: 0x01, SYN: 0x02, ACK: 0x10, ECE: 0x40, CWR: 0x80}
