"""Random input for one queue discipline: the queue, the link, and the arriving packets."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

MTU = 1514
"""Maximum packet size in bytes, and the MTU of the kernel's device."""
MIN_BYTES = 28
FLOWS = 8
FIRST_PORT = 1000
CLASS = 0x10 << 16
"""Major number of the discipline `10:`; its classes count from 1."""
MASKED_BITS = 0xA5 << 24
"""Upper bits of a hash that `orphan_mask` masks out."""
PRIORITIES = (0, 0, 2, 2, 6, 6, 4, 4)
"""skb priority by the lower three bits of the DSCP (`rt_tos2priority`)."""


class Packet(NamedTuple):
    """An arriving packet of our queue."""

    at: int
    """Time in ns from the start of the pattern."""
    bytes: int
    flow: int
    ecn: int
    """The ECN field."""
    dscp: int = 0
    source: int = 1
    """Number of the source host."""
    destination: int = 2
    """Number of the destination host."""


class Naming(Enum):
    """Assignment of flow and hosts to a packet in the kernel, instead of the discipline's own hash."""

    PRIORITY = "priority"
    """skb priority is a class of the discipline; no hosts."""
    CLASS = "class"
    """A filter by source port sets the class: minor number for the flow, major number for the hosts."""
    HOST = "host"
    """As `CLASS`, but for the hosts only, because CAKE adds the flow's number to its host hash."""
    HASH = "hash"
    """The flow's number is the skb hash; hosts by address."""
    SALT = "salt"
    """As `CLASS`, with the flow's nonzero number as minor number; no hosts."""
    STACK = "stack"
    """As from a socket: skb priority from the DSCP. The hash lies in the flow's 1024th of the range."""
    ORPHAN = "orphan"
    """skb priority from the DSCP; the flow's number is in the lower bits of the skb hash, below constant upper bits."""


@dataclass(frozen=True)
class Pattern:
    """One queue and its arrivals."""

    aqm: str
    """Our queue manager."""
    line: str
    """The kernel's discipline, in tc's syntax."""
    rate: int
    """Link rate in bit/s."""
    overhead: int
    """Bytes that the link adds to each packet below the queue."""
    seed: int
    """Seed of the queue's random generator."""
    packets: list[Packet]
    naming: Naming = Naming.PRIORITY
    slowest_ns: int = 0
    """Upper bound of the time for all packets at the queue's own rate; 0 without a rate."""
    more: tuple[str, ...] = ()
    """tc lines after the discipline's: classes, their disciplines, filters."""
    complete: bool = False
    """Whether `aqm` has all parameters; otherwise those of `line` are added."""
    limit: str = "unlimited"
    """Limit of our queue in a scenario's syntax; applies to each leaf of a parent."""
    queues: int = 1
    """Transmit queues of the device; if several, the discipline is the root and the link never limits."""
    copies: bool = False
    """Whether the discipline may duplicate packets."""
    tables: Mapping[str, str] = field(default_factory=dict)
    """Distribution tables that `aqm` and `line` refer to: contents by file name."""

    @property
    def length_ns(self) -> int:
        """Upper bound of the time from the start until the queue is empty again."""
        sent = sum(packet.bytes + self.overhead for packet in self.packets) * 8 * 10**9 // self.rate
        return self.packets[-1].at + sent + self.slowest_ns

    def arrivals(self, start: int) -> Iterator[str]:
        """Lines for the guest's `replay`; the pattern begins at the guest's time `start`."""
        for packet in self.packets:
            port, priority, mark = FIRST_PORT, 0, 0
            if self.naming == Naming.PRIORITY:
                port, priority = FIRST_PORT + packet.flow, CLASS + packet.flow + 1
            elif self.naming == Naming.HASH:
                mark = packet.flow
            elif self.naming == Naming.STACK:
                priority, mark = PRIORITIES[packet.dscp & 7], packet.flow << 22 | 1
            elif self.naming == Naming.ORPHAN:
                priority, mark = PRIORITIES[packet.dscp & 7], MASKED_BITS | packet.flow
            else:
                port = FIRST_PORT + packet.flow
            tos = packet.dscp << 2 | packet.ecn
            hosts = f"{packet.source} {packet.destination}"
            yield f"{start + packet.at} {packet.bytes} {port} {tos} {priority} {mark} {hosts}\n"

    def after_qdisc(self, device: str) -> Iterator[str]:
        """Lines of tc after the discipline's: `more`, and the filters that set flows."""
        yield from self.more
        if self.naming not in (Naming.CLASS, Naming.HOST, Naming.SALT):
            return
        for flow, host in sorted({(packet.flow, packet.source) for packet in self.packets}):
            minor = {Naming.CLASS: flow + 1, Naming.HOST: 0, Naming.SALT: flow}[self.naming]
            match = f"u32 match ip sport {FIRST_PORT + flow} 0xffff flowid {host + 1:x}:{minor:x}"
            yield f"filter add dev {device} parent 10: protocol ip prio 1 {match}\n"


def random_packets(draw: random.Random, rate: int, count: int) -> list[Packet]:
    """Phases of different load, sizes, burstiness, flows and ECN; no two packets arrive at the same time."""
    packets: list[Packet] = []
    at = draw.randrange(1000)
    while len(packets) < count:
        load = draw.choice((0.3, 0.9, 1.05, 1.5, 4.0))
        sizes = draw.choice((*_SIZES, [draw.randint(MIN_BYTES, MTU) for _ in range(5)]))
        flows, field = draw.randint(1, FLOWS), draw.choice(((0,), (2,), (1,), (0, 2), (0, 1, 2, 3)))
        burst, random_gaps = draw.choice((1, 1, 4, 40)), draw.random() < 0.6
        for _ in range(draw.randint(20, 200)):
            size, flow, ecn = draw.choice(sizes), draw.randrange(flows), draw.choice(field)
            gap = size * 8e9 * burst / (rate * load)
            for _ in range(burst):
                packets.append(Packet(at, size, flow, ecn))
                at += draw.randint(100, 2000)
            at += int(draw.expovariate(1 / gap) if random_gaps else gap)
        if draw.random() < 0.5:  # a pause in which the queue empties and its state ages
            at += int(10 ** draw.uniform(6, 9.5))
    return packets[:count]


_SIZES = ((1500,), (MTU,), (60,), (60, 1500), (64, 300, 576, 1000, 1500), range(MIN_BYTES, MTU + 1))


def random_rate(draw: random.Random) -> int:
    """Link rate in bit/s, log-uniform from 200 kbit/s to 300 Mbit/s."""
    return round(10 ** draw.uniform(5.3, 8.5))


def random_time(draw: random.Random, low: int, high: int) -> str:
    """Time from `low` to `high` microseconds, log-uniform; tc truncates fractions of a microsecond."""
    us = low * (high / low) ** draw.random()
    return draw.choice((f"{round(us)}us", f"{us / 1e3:.3f}ms", f"{us / 1e3:.6f}ms", f"{us / 1e6:.6f}s"))
