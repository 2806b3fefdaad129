"""What is made up for one queue discipline: the queue, the link, and the packets that come."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

MTU = 1514
"""Largest packet, and the kernel's idea of the link's."""
LEAST_BYTES = 28
FLOWS = 8
FIRST_PORT = 1000
CLASS = 0x10 << 16
"""The discipline is 10:, its classes count from 1."""
CUT_OFF = 0xA5 << 24
"""Upper bits of a hash, of which a discipline looks at the lower ones only."""
PRIORITIES = (0, 0, 2, 2, 6, 6, 4, 4)
"""By the lower three bits of the DSCP (`rt_tos2priority`)."""


class Packet(NamedTuple):
    """A packet as our queue sees it."""

    at: int
    """Time in ns from the start of the pattern."""
    bytes: int
    flow: int
    ecn: int
    """The ECN field."""
    dscp: int = 0
    source: int = 1
    """The host that it comes from, and the one that it goes to."""
    destination: int = 2


class Naming(Enum):
    """How the kernel's discipline is told of a packet's flow and hosts, so that no hash of its own decides."""

    PRIORITY = "priority"
    """The packet's priority is a class of the discipline; there are no hosts."""
    CLASS = "class"
    """A filter by the packet's port has a class: the minor number is the flow's, the major one its hosts'."""
    HOST = "host"
    """The same, but the class names the hosts only: CAKE adds a flow's number to what it tells hosts apart by."""
    HASH = "hash"
    """The flow's number is the packet's hash; hosts are found by their addresses."""
    SALT = "salt"
    """As `CLASS`, and the minor number is the flow's own, which is not 0; there are no hosts."""
    STACK = "stack"
    """As from a socket: the priority follows from the DSCP. The hash is in the flow's part of 1024 equal ones."""
    ORPHAN = "orphan"
    """The priority follows from the DSCP. Of the packet's hash the lower bits are the flow's number, others are set."""


@dataclass(frozen=True)
class Pattern:
    """One queue, and what comes to it."""

    aqm: str
    """Ours."""
    line: str
    """The kernel's, in tc's words."""
    rate: int
    """Of the link, in bit/s."""
    overhead: int
    """Bytes that the link adds to each packet below the queue."""
    seed: int
    """Of the draws of the queue."""
    packets: list[Packet]
    naming: Naming = Naming.PRIORITY
    slowest_ns: int = 0
    """The most time that the queue's own rate takes for all packets; 0 if it has none."""
    more: tuple[str, ...] = ()
    """Lines of tc behind that of the discipline: its classes, what they hold, filters."""
    complete: bool = False
    """Whether `aqm` has all parameters; else those of `line` are added."""
    limit: str = "unlimited"
    """Of the host's queue, as scenarios write it, for ours: in a parent's leaves each has it."""
    queues: int = 1
    """Of the device; where there are several, the discipline is at its root, and the link does not limit."""
    copies: bool = False
    """Whether the discipline may make two packets of one."""
    tables: Mapping[str, str] = field(default_factory=dict)
    """Texts of the files with tables of distributions that both lines name, by name."""

    @property
    def length_ns(self) -> int:
        """Time from the start to when the queue is empty again, at the latest."""
        sent = sum(packet.bytes + self.overhead for packet in self.packets) * 8 * 10**9 // self.rate
        return self.packets[-1].at + sent + self.slowest_ns

    def arrivals(self, start: int) -> Iterator[str]:
        """Lines for the guest's `replay`, whose clock is at `start` when the pattern begins."""
        for packet in self.packets:
            port, priority, mark = FIRST_PORT, 0, 0
            if self.naming == Naming.PRIORITY:
                port, priority = FIRST_PORT + packet.flow, CLASS + packet.flow + 1
            elif self.naming == Naming.HASH:
                mark = packet.flow
            elif self.naming == Naming.STACK:
                priority, mark = PRIORITIES[packet.dscp & 7], packet.flow << 22 | 1
            elif self.naming == Naming.ORPHAN:
                priority, mark = PRIORITIES[packet.dscp & 7], CUT_OFF | packet.flow
            else:
                port = FIRST_PORT + packet.flow
            tos = packet.dscp << 2 | packet.ecn
            hosts = f"{packet.source} {packet.destination}"
            yield f"{start + packet.at} {packet.bytes} {port} {tos} {priority} {mark} {hosts}\n"

    def behind(self, device: str) -> Iterator[str]:
        """What comes behind the discipline in tc's words: `more`, and the filters that name flows."""
        yield from self.more
        if self.naming not in (Naming.CLASS, Naming.HOST, Naming.SALT):
            return
        for flow, host in sorted({(packet.flow, packet.source) for packet in self.packets}):
            minor = {Naming.CLASS: flow + 1, Naming.HOST: 0, Naming.SALT: flow}[self.naming]
            match = f"u32 match ip sport {FIRST_PORT + flow} 0xffff flowid {host + 1:x}:{minor:x}"
            yield f"filter add dev {device} parent 10: protocol ip prio 1 {match}\n"


def random_packets(draw: random.Random, rate: int, count: int) -> list[Packet]:
    """Phases of different load, sizes, burstiness, flows and ECN; two packets never come at one instant."""
    made: list[Packet] = []
    at = draw.randrange(1000)
    while len(made) < count:
        load = draw.choice((0.3, 0.9, 1.05, 1.5, 4.0))
        sizes = draw.choice((*_SIZES, [draw.randint(LEAST_BYTES, MTU) for _ in range(5)]))
        flows, field = draw.randint(1, FLOWS), draw.choice(((0,), (2,), (1,), (0, 2), (0, 1, 2, 3)))
        burst, random_gaps = draw.choice((1, 1, 4, 40)), draw.random() < 0.6
        for _ in range(draw.randint(20, 200)):
            size, flow, ecn = draw.choice(sizes), draw.randrange(flows), draw.choice(field)
            gap = size * 8e9 * burst / (rate * load)
            for _ in range(burst):
                made.append(Packet(at, size, flow, ecn))
                at += draw.randint(100, 2000)
            at += int(draw.expovariate(1 / gap) if random_gaps else gap)
        if draw.random() < 0.5:  # the queue runs empty, and its state ages
            at += int(10 ** draw.uniform(6, 9.5))
    return made[:count]


_SIZES = ((1500,), (MTU,), (60,), (60, 1500), (64, 300, 576, 1000, 1500), range(LEAST_BYTES, MTU + 1))


def random_rate(draw: random.Random) -> int:
    """A link's rate in bit/s, from 200 kbit/s to 300 Mbit/s, evenly in its logarithm."""
    return round(10 ** draw.uniform(5.3, 8.5))


def random_time(draw: random.Random, least: int, most: int) -> str:
    """A time from `least` to `most` microseconds, evenly in its logarithm; tc cuts off what is below one."""
    us = least * (most / least) ** draw.random()
    return draw.choice((f"{round(us)}us", f"{us / 1e3:.3f}ms", f"{us / 1e3:.6f}ms", f"{us / 1e6:.6f}s"))
