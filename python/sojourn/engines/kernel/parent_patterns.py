"""Patterns for classful queue disciplines: `tbf`, `prio` and `htb`, with filters by DSCP."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.engines.kernel.pattern import MTU, Naming, Packet, Pattern, random_packets, random_rate, random_time

CODES = (46, 34, 26, 18, 10, 8, 48, 12)
"""DSCPs of filters; other packets go to the default class."""
HANDLE = 0x10
FIRST_CHILD = 0x20
"""First handle of the classes' child disciplines."""


@dataclass(frozen=True)
class Child:
    """Child of a class: our queue manager and the kernel's discipline in tc's syntax; both empty for the default."""

    ours: str = ""
    line: str = ""

    @property
    def braces(self) -> str:
        """Our syntax after the class."""
        return f" {{ {self.ours} }}" if self.ours else ""

    def limited_to(self, max_packets: int) -> Child:
        """Limit the child to `max_packets` packets in the kernel's syntax; 0 is unlimited."""
        if not self.line or not max_packets:
            return self
        kind, _, own, *rest = self.line.split(" ")
        return Child(self.ours, " ".join([kind, "limit", str(min(max_packets, int(own))), *rest]))


def tbf(draw: random.Random, count: int) -> Pattern:
    """A token bucket with limit or latency, and optionally a peak rate and a child.

    The limit of `fq_codel` is never reached, because the kernel counts the packet that tbf has peeked at and ours does
    not.
    """
    rate, shaped = _rates(draw)
    burst = draw.choice((draw.randint(MTU, 4 * MTU), draw.randint(300, 40_000)))
    waits = draw.choice((f"limit {draw.randint(0, 60_000)}", f"latency {random_time(draw, 1000, 400_000)}"))
    peak = ""
    if draw.random() < 0.4:
        peak = f" peakrate {round(shaped * draw.uniform(1.05, 8)) + 8}bit mtu {draw.randint(MTU, 2 * MTU)}"
    framing = draw.choice(("", f" overhead {draw.randint(0, 60)}", f" mpu {draw.randint(0, 200)}", " linklayer atm"))
    line = f"tbf rate {shaped}bit burst {burst} {waits}{peak}{framing}"
    child, max_packets = random_child(draw, limits=(10_240,)) if draw.random() < 0.5 else Child(), _random_limit(draw)
    max_packets = max_packets if child.line.startswith("codel") else 0
    child = child.limited_to(max_packets)
    return Pattern(
        f"{_with_units(line, ('burst', 'limit', 'mtu'))}{child.braces}",
        line,
        rate,
        draw.randint(0, 60),
        draw.randrange(2**63),
        random_packets(draw, min(rate, shaped), count),
        Naming.STACK,
        2 * _longest(count, shaped),
        tuple(_child(1, child)),
        complete=True,
        limit=_limit(max_packets),
    )


def prio(draw: random.Random, count: int) -> Pattern:
    """Bands by DSCP filter, or by the skb priority of the DSCP."""
    rate, max_packets = random_rate(draw), _random_limit(draw)
    bands = draw.randint(2, 6)
    priomap = [str(draw.randrange(bands)) for _ in range(16)]
    ours, more = [], []
    for band in range(1, bands + 1):
        child, codes = (
            random_child(draw).limited_to(max_packets) if draw.random() < 0.6 else _fifo(max_packets),
            CODES[band - 1 : band],
        )
        codes = codes if draw.random() < 0.7 else ()
        ours.append(f"band {band}{_matches(codes)}{child.braces}")
        more += [*_child(band, child), *_filters(band, codes)]
    return Pattern(
        f"prio handle {HANDLE:x} bands {bands} priomap {','.join(priomap)} {{ {'; '.join(ours)} }}",
        f"prio bands {bands} priomap {' '.join(priomap)}",
        rate,
        draw.randint(0, 60),
        draw.randrange(2**63),
        _assign_dscps(draw, random_packets(draw, rate, count)),
        Naming.STACK,
        more=tuple(more),
        complete=True,
        limit=_limit(max_packets),
    )


def htb(draw: random.Random, count: int) -> Pattern:
    """A class tree of one or two levels with random rates, ceilings, bursts, quanta and priorities; leaves by DSCP."""
    (rate, shaped), max_packets = _rates(draw), _random_limit(draw)
    leaves = draw.randint(1, 5)
    parents = [0] if draw.random() < 0.3 else list(range(1, draw.randint(1, 2) + 1))
    ours, more = [], []
    for parent in filter(None, parents):
        words = _class(draw, shaped * draw.uniform(0.4, 1.2), shaped)
        ours.append(f"class {parent:x} {words}")
        more.append(f"class add dev f parent {HANDLE:x}: classid {HANDLE:x}:{parent:x} htb {words}\n")
    for leaf in range(leaves):
        number, parent = 0x20 + leaf, draw.choice(parents)
        words = _class(draw, shaped * draw.uniform(0.05, 0.7), shaped)
        turns = f" prio {draw.randrange(4)}{draw.choice(('', f' quantum {draw.randint(300, 20_000)}'))}"
        child, codes = (
            random_child(draw).limited_to(max_packets) if draw.random() < 0.5 else _fifo(max_packets),
            CODES[leaf : leaf + 1],
        )
        above = f" parent {parent:x}" if parent else ""
        ours.append(f"class {number:x}{above} {words}{turns}{_matches(codes)}{child.braces}")
        place = f"parent {HANDLE:x}:{f'{parent:x}' if parent else ''} classid {HANDLE:x}:{number:x}"
        more += [f"class add dev f {place} htb {words}{turns}\n", *_child(number, child), *_filters(number, codes)]
    default = draw.choice((0x20, 0x20 + leaves - 1, 0))
    words = f"default {default:x} r2q {draw.choice((10, draw.randint(1, 100)))}"
    if draw.random() < 0.5:
        words += f" direct_qlen {draw.randint(0, 60)}"
    return Pattern(
        f"htb@linux-6.1 handle {HANDLE:x} {words} {{ {'; '.join(map(_with_units, ours))} }}",
        f"htb {words}",
        rate,
        draw.randint(0, 60),
        draw.randrange(2**63),
        _assign_dscps(draw, random_packets(draw, min(rate, shaped), count)),
        Naming.STACK,
        100 * _longest(count, shaped),
        tuple(more),
        complete=True,
        limit=_limit(max_packets),
    )


def _rates(draw: random.Random) -> tuple[int, int]:
    """Rates of the link and of the shaper."""
    rate = random_rate(draw)
    return rate, round(rate * 10 ** draw.uniform(-0.8, 0.1))


def _longest(count: int, rate: int) -> int:
    """Time in ns for packets of maximum size in ATM cells."""
    return count * 2 * MTU * 8 * 10**9 // rate


def _class(draw: random.Random, rate: float, max_packets: int) -> str:
    """Parameters of an htb class.

    Both bursts are explicit, because tc's defaults depend on the tick: a millisecond in the guest, elsewhere a
    nanosecond.
    """
    assured = max(round(rate), 1000)
    ceiling = draw.choice(
        ("", f" ceil {max(assured, max_packets)}bit", f" ceil {round(assured * draw.uniform(1, 3))}bit")
    )
    burst, cburst = (draw.choice((1600, draw.randint(MTU, 20_000))) for _ in range(2))
    return f"rate {assured}bit{ceiling} burst {burst} cburst {cburst}"


def _with_units(words: str, sizes: Sequence[str] = ("burst", "cburst", "quantum")) -> str:
    """Append our unit to the sizes after these words."""
    parts = words.split(" ")
    for i, word in enumerate(parts[:-1]):
        if word in sizes and parts[i + 1].isdigit():
            parts[i + 1] += "B"
    return " ".join(parts)


def _random_limit(draw: random.Random) -> int:
    """Limit of each class in packets, mostly small; 0 is unlimited."""
    return draw.choice((0, 1, draw.randint(2, 12), draw.randint(2, 100)))


def _limit(max_packets: int) -> str:
    """Limit of our link that has the same effect."""
    return f"{max_packets} packets" if max_packets else "unlimited"


def _fifo(max_packets: int) -> Child:
    """Child `pfifo`; the default one would have the limit of the device's tx queue."""
    return Child("", f"pfifo limit {max_packets}") if max_packets else Child()


def random_child(draw: random.Random, limits: Sequence[int] = (10, 10_240)) -> Child:
    """A child without random draws and with numbered flows."""
    target, interval = draw.randint(500, 15_000), draw.randint(16_000, 200_000)
    times, ecn = f"target {target}us interval {interval}us", draw.choice(("ecn", "noecn"))
    if draw.random() < 0.5:
        return Child(f"codel@linux {times} {ecn}", f"codel limit 100000 {times} {ecn}")
    quantum, limit = draw.randint(256, 4000), draw.choice(limits)
    line = f"fq_codel limit {limit} flows 1024 quantum {quantum} {times} {ecn}"
    return Child(f"fq_codel@linux limit {limit} quantum {quantum}B {times} {ecn} hash modulo", line)


def _child(number: int, child: Child) -> list[str]:
    """Line of tc for the child of a class."""
    if not child.line:
        return []
    return [f"qdisc add dev f parent {HANDLE:x}:{number:x} handle {FIRST_CHILD + number:x}: {child.line}\n"]


def _matches(codes: Sequence[int]) -> str:
    return "".join(f" match dscp {code}" for code in codes)


def _filters(number: int, codes: Sequence[int]) -> list[str]:
    start = f"filter add dev f parent {HANDLE:x}: protocol ip prio 1 u32 match ip dsfield"
    return [f"{start} {code << 2:#x} 0xfc flowid {HANDLE:x}:{number:x}\n" for code in codes]


def _assign_dscps(draw: random.Random, packets: list[Packet]) -> list[Packet]:
    """Assign a DSCP to each flow, to some the default."""
    code_of_flow = [draw.choice((0, *CODES, *CODES)) for _ in range(64)]
    return [packet._replace(dscp=code_of_flow[packet.flow]) for packet in packets]
