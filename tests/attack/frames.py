"""Frames at an interface with an attached shell: valid, truncated, mutated, random or tagged."""

from __future__ import annotations

import os
import random
import socket
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path

from attack.exits import Exit, run_process
from attack.mutate import mutated_bytes

FILE = "frames.bin"
"""Frames, each preceded by its length in 4 bytes; odd-numbered frames are sent from the other side."""
MARK = b"\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x88\xb5sojourn attack, the end"
"""Non-IP frame that a living shell forwards."""
TIMEOUT_S = 20.0
SHELLS = (
    ["link", "--rate", "1gbit"],
    ["link", "--rate", "1gbit", "--aqm", "fq_codel ecn"],
    ["link", "--rate", "200mbit", "--aqm", "cake diffserv4 dual-srchost nat ack-filter", "--log", "log"],
    ["link", "--rate", "1gbit", "--netem", "corrupt 20% duplicate 5% reorder 10% delay 1ms"],
    ["link", "--rate", "1gbit", "--aqm", "prio { band 1 match dscp EF; band 2 { dualpi2 } }"],
    ["link", "--rate", "1gbit", "--aqm", "htb default 2 { class 1 rate 3mbit match dscp EF; class 2 rate 900mbit }"],
    ["link", "--rate", "1gbit", "--class", "5201=1:10", "--pcap", "seen"],
    ["delay", "1ms"],
    ["loss", "3%"],
)
PROTOCOLS = (1, 6, 17, 58, 0, 43, 44, 47, 60, 255)
"""ICMP, TCP, UDP, ICMPv6, extension headers and tunnels."""
TYPES = (0x0800, 0x86DD, 0x0806, 0x8100, 0x88A8, 0x88B5, 0x8863, 0, 5, 1500, 0xFFFF)
"""EtherTypes, and lengths of IEEE 802.3 frames."""
TAGS = (0x8100, 0x88A8, 0x9100)


def packet(rng: random.Random) -> tuple[int, bytes]:
    """Draw an IP packet with a transport header, and its EtherType."""
    payload = rng.randbytes(rng.choice((0, 1, 5, 64, 900, 1400)))
    protocol = rng.choice(PROTOCOLS[:4])
    ports = struct.pack(">HH", rng.randrange(1 << 16), rng.randrange(1 << 16))
    options = rng.randbytes(4 * rng.choice((0, 1, 10)))
    if protocol == 6:
        numbers = struct.pack(">II", rng.randrange(1 << 32), rng.randrange(1 << 32))
        size_and_flags = struct.pack(">BBHHH", (20 + len(options)) << 2, rng.randrange(256), 9999, 0, 0)
        inner = ports + numbers + size_and_flags + options + payload
    elif protocol == 17:
        inner = ports + struct.pack(">HH", 8 + len(payload), 0) + payload
    else:
        inner = struct.pack(">BBHHH", rng.choice((0, 3, 8, 128)), rng.randrange(4), 0, 7, 9) + payload
    if rng.random() < 0.5:
        size, words = 20 + len(options) + len(inner), 5 + len(options) // 4
        first = struct.pack(
            ">BBHHHBBH", 0x40 | words, rng.randrange(256), size, rng.randrange(1 << 16), 0, 9, protocol, 0
        )
        return 0x0800, first + rng.randbytes(8) + options + inner
    first = struct.pack(">IHBB", 0x60000000 | rng.randrange(1 << 28), len(inner), protocol, 9)
    return 0x86DD, first + rng.randbytes(32) + inner


def frame(rng: random.Random, sound: bool) -> bytes:
    """Draw an Ethernet frame; unless `sound`, anything or nothing may follow the addresses."""
    kind, inner = packet(rng)
    if not sound:
        change = rng.randrange(6)
        if change == 0:
            inner = inner[: rng.randrange(6)]
        elif change == 1:
            inner = inner[: rng.randrange(len(inner) + 1)]
        elif change == 2:
            inner = mutated_bytes(rng, inner)[:1500]
        elif change == 3:
            kind, inner = rng.choice(TYPES), rng.randbytes(rng.choice((0, 1, 2, 3, 4, 5, 19, 39, 60, 1500)))
        elif change == 4:  # lengths of the headers and of the packet
            places = (0, 2, 3, 4, 5, 6, 9, 20, 32, 40, 52)
            inner = bytearray(inner)
            for place in rng.sample(places, 3):
                if place < len(inner):
                    inner[place] = rng.choice((0, 1, 0x0F, 0x40, 0x4F, 0x60, 0xF0, 0xFF, *PROTOCOLS))
            inner = bytes(inner)
        else:
            kind = rng.choice(TYPES)
    tags = b"".join(
        struct.pack(">HH", rng.choice(TAGS), rng.randrange(1 << 16))
        for _ in range(rng.choice((0, 0, 0, 1, 2, 3, 9) if not sound else (0, 0, 0, 1)))
    )
    rest_of_frame = tags + struct.pack(">H", kind) + inner
    if not sound and rng.random() < 0.1:
        rest_of_frame = rest_of_frame[: rng.randrange(2, 6)]  # the kernel rejects frames without an EtherType
    to = rng.choice((b"\xff" * 6, b"\x02\x00\x00\x00\x00\x01", b"\x33\x33\x00\x00\x00\x01"))
    return to + b"\x02\x00\x00\x00\x00\x02" + rest_of_frame


def draw_frames(rng: random.Random, runs: bool) -> tuple[list[str], dict[str, bytes]]:
    """Draw the options of a shell at an interface, and frames."""
    frames = [frame(rng, sound=runs) for _ in range(rng.choice((30, 200, 600)))]
    data = b"".join(struct.pack(">I", len(one)) + one for one in frames)
    first, *rest = rng.choice(SHELLS)
    return [first, "--attach", "a0", *rest, "--quiet", "--name", f"attack-{rng.randrange(10**9)}"], {FILE: data}


def run(words: list[str]) -> Exit:
    """Send the frames of the working folder through a shell at a veth pair, in a network namespace of its own."""
    network = "ip link add a0 type veth peer name b0 && ip link set a0 up && ip link set b0 up || exit 3"
    send = [sys.executable, "-m", "attack.frames"]
    command = [sys.executable, "-m", "sojourn", *words, "--", *send]
    return run_process(
        ["unshare", "-n" if os.geteuid() == 0 else "-Urn", "sh", "-c", f'{network}; exec "$@"', "sh", *command], 60
    )


def main() -> int:
    """Send all frames; afterwards a valid frame must still pass."""
    ports = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for _ in range(2)]
    for port, name in zip(ports, ("a0", "b0"), strict=True):
        port.bind((name, 3))
        port.settimeout(0.1)
    data, number = Path(FILE).read_bytes(), 0
    while data:
        (size,) = struct.unpack_from(">I", data)
        with suppress(OSError):  # the kernel rejects the frame
            ports[number % 2].send(data[4 : 4 + size])
        data, number = data[4 + size :], number + 1
    until = time.monotonic() + TIMEOUT_S
    while time.monotonic() < until:
        with suppress(OSError):
            ports[0].send(MARK)
            for _ in range(1000):
                found, (_, _, kind, *_) = ports[1].recvfrom(10000)
                if found.startswith(MARK) and kind != socket.PACKET_OUTGOING:
                    return 0
    print("a whole frame does not pass any more", file=sys.stderr)
    return 9


if __name__ == "__main__":
    os._exit(main())
