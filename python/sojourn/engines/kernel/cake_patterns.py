"""Patterns for CAKE, and for COBALT, which the kernel has only inside it."""

from __future__ import annotations

import random
from dataclasses import dataclass

from sojourn.engines.kernel.made import FLOWS, Naming, Packet, Pattern, random_packets, random_rate, random_time

TINS = ("besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence")
WITH_FLOWS = ("flows", "dual-srchost", "dual-dsthost", "triple-isolate")
WITHOUT_FLOWS = ("flowblind", "srchost", "dsthost", "hosts")
RTTS = ("datacentre", "lan", "metro", "regional", "internet", "oceanic", "satellite")
LINKS = (
    *("noatm", "atm", "ptm", "conservative", "raw", "docsis", "ethernet", "ether-vlan", "ethernet ether-vlan"),
    *("ipoa-vcmux", "ipoa-llcsnap", "bridged-vcmux", "bridged-llcsnap", "pppoa-vcmux", "pppoa-llc"),
    *("pppoe-vcmux", "pppoe-llcsnap", "pppoe-ptm", "bridged-ptm"),
)
NAMED_CODES = (0, 1, 2, 4, 8, 10, 16, 18, 24, 26, 32, 34, 40, 44, 46, 48, 56)
"""Code points that some mode sorts out."""
MOST_FLOWS = 32
PLACES, WAYS = 1024, 8
"""Of a tin's flows: in all, and in each set."""
DESTINATIONS = 16
"""Factor of the numbers of destinations: the xor of a source and a destination names the pair."""


@dataclass(frozen=True)
class Link:
    """What is drawn of the link and the shaper."""

    rate: int
    """Of the link, in bit/s."""
    shaped: int
    """Of the shaper; 0 if there is none."""
    overhead: int

    @property
    def bottleneck(self) -> int:
        """The slower of both."""
        return min(self.rate, self.shaped or self.rate)


def cake(draw: random.Random, count: int) -> Pattern:
    """CAKE with its words, shaped or not; flows and hosts by class, or by hash and address; DSCP by flow or packet."""
    link = _link(draw, shaped=0.6)
    isolation = draw.choice((*WITH_FLOWS, *WITH_FLOWS, *WITHOUT_FLOWS))
    memory = draw.random() < 0.4
    # Of equally long queues the one is shortened that the kernel's hash has put first, unless a class names it.
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
    packets = _named(draw, random_packets(draw, link.bottleneck, count), naming)
    return _pattern("cake@linux", line, link, packets, draw, naming)


def cobalt(draw: random.Random, count: int) -> Pattern:
    """COBALT alone: one queue without tins, flows and a shaper. Its target follows from the round-trip time.

    Without overflows: BLUE would draw from one stream with CAKE's quanta, of which COBALT alone has none. `cake` has
    overflows.
    """
    link = _link(draw, shaped=0)
    us = round(10 ** draw.uniform(2.5, 5.7))
    line = f"cake besteffort flowblind unlimited rtt {us}us"
    ours = f"cobalt@linux target {us // 20}us interval {us}us"
    return _pattern(ours, line, link, random_packets(draw, link.rate, count), draw, Naming.HASH)


def _link(draw: random.Random, shaped: float) -> Link:
    """A link, and with probability `shaped` a shaper, seldom faster than it."""
    rate = random_rate(draw)
    shaper = round(rate * 10 ** draw.uniform(-0.8, 0.1)) if draw.random() < shaped else 0
    return Link(rate, shaper, draw.choice((0, 24, draw.randint(1, 60))))


def _pattern(ours: str, line: str, link: Link, packets: list[Packet], draw: random.Random, naming: Naming) -> Pattern:
    slowest = 0
    if link.shaped:
        # The most that overhead, the least size and cells can make of a packet, twice: autorate may shape to less.
        wire = sum((max(packet.bytes, 256) + 256 + 53) * 53 // 48 for packet in packets)
        slowest = 2 * wire * 8 * 10**9 // link.shaped
    seed = draw.randrange(2**63)
    return Pattern(ours, line, link.rate, link.overhead, seed, packets, naming, slowest)


def _rtt(draw: random.Random) -> str:
    return draw.choice(("", draw.choice(RTTS), f"rtt {random_time(draw, 50, 1_000_000)}"))


def _link_layer(draw: random.Random) -> list[str]:
    """Keywords, which add up, and values, which replace what is before them."""
    words = [draw.choice(LINKS) for _ in range(draw.choice((0, 1, 1, 2)))]
    if draw.random() < 0.5:
        words.append(f"overhead {draw.choice((draw.randint(-64, 256), draw.randint(-20, 40)))}")
    if draw.random() < 0.3:
        words.append(f"mpu {draw.choice((64, 84, draw.randint(0, 256)))}")
    return words


def _named(draw: random.Random, packets: list[Packet], naming: Naming) -> list[Packet]:
    """Gives the packets flows that may collide, hosts and DSCPs."""
    share = draw.choice((1, 1, 2, MOST_FLOWS // FLOWS))
    flows = _flow_numbers(draw, naming)
    # A class has one host for both ends.
    if naming != Naming.HASH:
        hosts = [(host, host) for host in (draw.randrange(4) for _ in flows)]
    else:
        # Two at either end: the kernel hashes addresses itself, and of two the places are seldom the same (1 in 1024).
        hosts = [(draw.randint(1, 2), DESTINATIONS * draw.randint(1, 2)) for _ in flows]
    codes = draw.choice((NAMED_CODES, range(64)))
    code_of_flow = [draw.choice(codes) for _ in flows]
    mixed = draw.random() < 0.2
    made = []
    for packet in packets:
        index = packet.flow + FLOWS * draw.randrange(share)
        dscp = draw.choice(codes) if mixed else code_of_flow[index]
        source, destination = hosts[index]
        made.append(packet._replace(flow=flows[index], dscp=dscp, source=source, destination=destination))
    return made


def _flow_numbers(draw: random.Random, naming: Naming) -> list[int]:
    """Of `MOST_FLOWS` flows: anywhere, or crowded into one set or two of places."""
    if naming != Naming.HASH:
        return draw.sample(range(PLACES), MOST_FLOWS)
    first = draw.randrange(1, PLACES)
    crowd = draw.choice((1, WAYS, 2 * WAYS, 0))
    if not crowd:
        return draw.sample(range(1, 2**32), MOST_FLOWS)
    tags = draw.sample(range(1, 2**32 // PLACES), MOST_FLOWS)
    return [tag * PLACES + (first + draw.randrange(crowd)) % PLACES for tag in tags]
