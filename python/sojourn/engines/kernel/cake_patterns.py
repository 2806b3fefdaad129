"""Patterns for CAKE, and for COBALT, which the kernel has only inside CAKE."""

from __future__ import annotations

import random
from dataclasses import dataclass

from sojourn.engines.kernel.pattern import FLOWS, Naming, Packet, Pattern, random_packets, random_rate, random_time

TINS = ("besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence")
WITH_FLOWS = ("flows", "dual-srchost", "dual-dsthost", "triple-isolate")
WITHOUT_FLOWS = ("flowblind", "srchost", "dsthost", "hosts")
RTTS = ("datacentre", "lan", "metro", "regional", "internet", "oceanic", "satellite")
LINKS = (
    *("noatm", "atm", "ptm", "conservative", "raw", "docsis", "ethernet", "ether-vlan", "ethernet ether-vlan"),
    *("ipoa-vcmux", "ipoa-llcsnap", "bridged-vcmux", "bridged-llcsnap", "pppoa-vcmux", "pppoa-llc"),
    *("pppoe-vcmux", "pppoe-llcsnap", "pppoe-ptm", "bridged-ptm"),
)
MAPPED_DSCPS = (0, 1, 2, 4, 8, 10, 16, 18, 24, 26, 32, 34, 40, 44, 46, 48, 56)
"""DSCPs that some mode maps to a tin of its own."""
MAX_FLOWS = 32
QUEUES, SET_WAYS = 1024, 8
"""Queues of a tin, and ways of a set (`CAKE_QUEUES`, `CAKE_SET_WAYS`)."""
DESTINATIONS = 16
"""Factor of the destination numbers, so that source xor destination identifies the pair."""


@dataclass(frozen=True)
class Link:
    """Random parameters of the link and the shaper."""

    rate: int
    """Link rate in bit/s."""
    shaped: int
    """Shaper rate in bit/s; 0 without a shaper."""
    overhead: int

    @property
    def bottleneck(self) -> int:
        """Minimum of both rates."""
        return min(self.rate, self.shaped or self.rate)


def cake(draw: random.Random, count: int) -> Pattern:
    """CAKE with random options, shaped or not; flows and hosts by class, or by hash and address."""
    link = _link(draw, shaped=0.6)
    isolation = draw.choice((*WITH_FLOWS, *WITH_FLOWS, *WITHOUT_FLOWS))
    memory = draw.random() < 0.4
    # Among equally long queues an overflow drops from the first, by the kernel's hash unless a class sets it.
    naming = Naming.CLASS if isolation in WITHOUT_FLOWS and memory else draw.choice((Naming.CLASS, Naming.HASH))
    if naming == Naming.CLASS and isolation in WITHOUT_FLOWS:
        naming = Naming.HOST
    words = [
        "unlimited" if not link.shaped else f"bandwidth {link.shaped}bit",
        draw.choice(("", *TINS)),
        isolation,
        _rtt(draw),
        draw.choice(("", " ".join(_link_layer(draw)))),
        f"memlimit {draw.choice((draw.randint(3000, 30_000), draw.randint(3000, 200_000)))}" if memory else "",
        draw.choice(("", "ingress", "egress")),
        draw.choice(("", "wash", "nowash")),
        draw.choice(("", "split-gso", "no-split-gso")),
        "autorate-ingress" if link.shaped and draw.random() < 0.1 else "",
    ]
    line = " ".join(["cake", *filter(None, words)])
    packets = _assign_flows(draw, random_packets(draw, link.bottleneck, count), naming)
    return _pattern("cake@linux", line, link, packets, draw, naming)


def cobalt(draw: random.Random, count: int) -> Pattern:
    """COBALT alone: one queue without tins, flows or shaper; its target follows from the RTT.

    No overflows: BLUE would draw from the same random stream as CAKE's quanta, which COBALT alone lacks. `cake` covers
    overflows.
    """
    link = _link(draw, shaped=0)
    us = round(10 ** draw.uniform(2.5, 5.7))
    line = f"cake besteffort flowblind unlimited rtt {us}us"
    aqm = f"cobalt@linux target {us // 20}us interval {us}us"
    return _pattern(aqm, line, link, random_packets(draw, link.rate, count), draw, Naming.HASH)


def _link(draw: random.Random, shaped: float) -> Link:
    """A random link and, with probability `shaped`, a shaper that is usually slower."""
    rate = random_rate(draw)
    shaper = round(rate * 10 ** draw.uniform(-0.8, 0.1)) if draw.random() < shaped else 0
    return Link(rate, shaper, draw.choice((0, 24, draw.randint(1, 60))))


def _pattern(aqm: str, line: str, link: Link, packets: list[Packet], draw: random.Random, naming: Naming) -> Pattern:
    slowest = 0
    if link.shaped:
        # Upper bound of the wire size with overhead, MPU and ATM cells, twice, since autorate may shape to less.
        wire = sum((max(packet.bytes, 256) + 256 + 53) * 53 // 48 for packet in packets)
        slowest = 2 * wire * 8 * 10**9 // link.shaped
    seed = draw.randrange(2**63)
    return Pattern(aqm, line, link.rate, link.overhead, seed, packets, naming, slowest)


def _rtt(draw: random.Random) -> str:
    return draw.choice(("", draw.choice(RTTS), f"rtt {random_time(draw, 50, 1_000_000)}"))


def _link_layer(draw: random.Random) -> list[str]:
    """Link layer keywords, which add up, and explicit values, which replace earlier ones."""
    words = [draw.choice(LINKS) for _ in range(draw.choice((0, 1, 1, 2)))]
    if draw.random() < 0.5:
        words.append(f"overhead {draw.choice((draw.randint(-64, 256), draw.randint(-20, 40)))}")
    if draw.random() < 0.3:
        words.append(f"mpu {draw.choice((64, 84, draw.randint(0, 256)))}")
    return words


def _assign_flows(draw: random.Random, packets: list[Packet], naming: Naming) -> list[Packet]:
    """Assign flows, which may collide, hosts and DSCPs to the packets."""
    share = draw.choice((1, 1, 2, MAX_FLOWS // FLOWS))
    flows = _flow_numbers(draw, naming)
    # A class gives both ends the same host.
    if naming != Naming.HASH:
        hosts = [(host, host) for host in (draw.randrange(4) for _ in flows)]
    else:
        # Two hosts at each end: the kernel hashes addresses, and two hosts rarely collide (1 in 1024).
        hosts = [(draw.randint(1, 2), DESTINATIONS * draw.randint(1, 2)) for _ in flows]
    codes = draw.choice((MAPPED_DSCPS, range(64)))
    code_of_flow = [draw.choice(codes) for _ in flows]
    mixed = draw.random() < 0.2
    named = []
    for packet in packets:
        index = packet.flow + FLOWS * draw.randrange(share)
        dscp = draw.choice(codes) if mixed else code_of_flow[index]
        source, destination = hosts[index]
        named.append(packet._replace(flow=flows[index], dscp=dscp, source=source, destination=destination))
    return named


def _flow_numbers(draw: random.Random, naming: Naming) -> list[int]:
    """Numbers of `MAX_FLOWS` flows: uniform, or crowded into one bucket, one set or two sets."""
    if naming != Naming.HASH:
        return draw.sample(range(QUEUES), MAX_FLOWS)
    first = draw.randrange(1, QUEUES)
    crowd = draw.choice((1, SET_WAYS, 2 * SET_WAYS, 0))
    if not crowd:
        return draw.sample(range(1, 2**32), MAX_FLOWS)
    tags = draw.sample(range(1, 2**32 // QUEUES), MAX_FLOWS)
    return [tag * QUEUES + (first + draw.randrange(crowd)) % QUEUES for tag in tags]
