"""Patterns for queue disciplines that hold others: `tbf`, `prio` and `htb`, with filters by DSCP."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.engines.kernel.made import MTU, Naming, Packet, Pattern, random_packets, random_rate, random_time

CODES = (46, 34, 26, 18, 10, 8, 48, 12)
"""Of filters; what has none of them goes to the default."""
HANDLE = 0x10
FIRST_CHILD = 0x20
"""Handles of what the classes hold, from here on."""


@dataclass(frozen=True)
class Held:
    """A queue in a class: ours, and the kernel's in tc's words; neither for the one that is there anyway."""

    ours: str = ""
    line: str = ""

    @property
    def braces(self) -> str:
        """As ours is written behind its class."""
        return f" {{ {self.ours} }}" if self.ours else ""

    def within(self, most: int) -> Held:
        """Where each class may hold `most` packets, 0 for any number: the kernel's limit is in its words."""
        if not self.line or not most:
            return self
        kind, _, own, *rest = self.line.split(" ")
        return Held(self.ours, " ".join([kind, "limit", str(min(most, int(own))), *rest]))


def tbf(draw: random.Random, count: int) -> Pattern:
    """A token bucket with a limit or a latency, with a peak rate or without, and something in it or not.

    The limit of `fq_codel` is never reached: in the kernel the packet that the bucket looks at counts, here not.
    """
    rate, shaped = _rates(draw)
    burst = draw.choice((draw.randint(MTU, 4 * MTU), draw.randint(300, 40_000)))
    waits = draw.choice((f"limit {draw.randint(0, 60_000)}", f"latency {random_time(draw, 1000, 400_000)}"))
    peak = ""
    if draw.random() < 0.4:
        peak = f" peakrate {round(shaped * draw.uniform(1.05, 8)) + 8}bit mtu {draw.randint(MTU, 2 * MTU)}"
    framing = draw.choice(("", f" overhead {draw.randint(0, 60)}", f" mpu {draw.randint(0, 200)}", " linklayer atm"))
    line = f"tbf rate {shaped}bit burst {burst} {waits}{peak}{framing}"
    held, most = random_held(draw, limits=(10_240,)) if draw.random() < 0.5 else Held(), _most(draw)
    most = most if held.line.startswith("codel") else 0
    held = held.within(most)
    return Pattern(
        f"{_with_units(line, ('burst', 'limit', 'mtu'))}{held.braces}",
        line,
        rate,
        draw.randint(0, 60),
        draw.randrange(2**63),
        random_packets(draw, min(rate, shaped), count),
        Naming.STACK,
        2 * _longest(count, shaped),
        tuple(_child(1, held)),
        complete=True,
        limit=_limit(most),
    )


def prio(draw: random.Random, count: int) -> Pattern:
    """Bands by DSCP or by the priority that follows from it."""
    rate, most = random_rate(draw), _most(draw)
    bands = draw.randint(2, 6)
    priomap = [str(draw.randrange(bands)) for _ in range(16)]
    ours, more = [], []
    for band in range(1, bands + 1):
        held, codes = random_held(draw).within(most) if draw.random() < 0.6 else _fifo(most), CODES[band - 1 : band]
        codes = codes if draw.random() < 0.7 else ()
        ours.append(f"band {band}{_matches(codes)}{held.braces}")
        more += [*_child(band, held), *_filters(band, codes)]
    return Pattern(
        f"prio handle {HANDLE:x} bands {bands} priomap {','.join(priomap)} {{ {'; '.join(ours)} }}",
        f"prio bands {bands} priomap {' '.join(priomap)}",
        rate,
        draw.randint(0, 60),
        draw.randrange(2**63),
        _sorted_out(draw, random_packets(draw, rate, count)),
        Naming.STACK,
        more=tuple(more),
        complete=True,
        limit=_limit(most),
    )


def htb(draw: random.Random, count: int) -> Pattern:
    """A tree of one level or two: rates, ceilings, depths, turns and priorities; leaves by DSCP, or directly."""
    (rate, shaped), most = _rates(draw), _most(draw)
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
        held, codes = random_held(draw).within(most) if draw.random() < 0.5 else _fifo(most), CODES[leaf : leaf + 1]
        above = f" parent {parent:x}" if parent else ""
        ours.append(f"class {number:x}{above} {words}{turns}{_matches(codes)}{held.braces}")
        place = f"parent {HANDLE:x}:{f'{parent:x}' if parent else ''} classid {HANDLE:x}:{number:x}"
        more += [f"class add dev f {place} htb {words}{turns}\n", *_child(number, held), *_filters(number, codes)]
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
        _sorted_out(draw, random_packets(draw, min(rate, shaped), count)),
        Naming.STACK,
        100 * _longest(count, shaped),
        tuple(more),
        complete=True,
        limit=_limit(most),
    )


def _rates(draw: random.Random) -> tuple[int, int]:
    """Of the link and of what shapes."""
    rate = random_rate(draw)
    return rate, round(rate * 10 ** draw.uniform(-0.8, 0.1))


def _longest(count: int, rate: int) -> int:
    """Time for packets of the largest size in cells of ATM."""
    return count * 2 * MTU * 8 * 10**9 // rate


def _class(draw: random.Random, rate: float, most: int) -> str:
    """Words of a class.

    Both depths are given. Of its own tc adds what the rate carries in a tick: in the guest a millisecond, elsewhere a
    nanosecond.
    """
    promised = max(round(rate), 1000)
    ceiling = draw.choice(("", f" ceil {max(promised, most)}bit", f" ceil {round(promised * draw.uniform(1, 3))}bit"))
    burst, cburst = (draw.choice((1600, draw.randint(MTU, 20_000))) for _ in range(2))
    return f"rate {promised}bit{ceiling} burst {burst} cburst {cburst}"


def _with_units(words: str, sizes: Sequence[str] = ("burst", "cburst", "quantum")) -> str:
    """Sizes as ours takes them, behind these words."""
    parts = words.split(" ")
    for i, word in enumerate(parts[:-1]):
        if word in sizes and parts[i + 1].isdigit():
            parts[i + 1] += "B"
    return " ".join(parts)


def _most(draw: random.Random) -> int:
    """Packets that each class may hold, a few of them mostly; 0 for more than ever wait."""
    return draw.choice((0, 1, draw.randint(2, 12), draw.randint(2, 100)))


def _limit(most: int) -> str:
    """The limit of the link that has the same effect on ours."""
    return f"{most} packets" if most else "unlimited"


def _fifo(most: int) -> Held:
    """What a class holds by itself; its limit would be that of the device's queue."""
    return Held("", f"pfifo limit {most}") if most else Held()


def random_held(draw: random.Random, limits: Sequence[int] = (10, 10_240)) -> Held:
    """A queue whose flows have numbers and that draws nothing at random."""
    target, interval = draw.randint(500, 15_000), draw.randint(16_000, 200_000)
    times, ecn = f"target {target}us interval {interval}us", draw.choice(("ecn", "noecn"))
    if draw.random() < 0.5:
        return Held(f"codel@linux {times} {ecn}", f"codel limit 100000 {times} {ecn}")
    quantum, limit = draw.randint(256, 4000), draw.choice(limits)
    line = f"fq_codel limit {limit} flows 1024 quantum {quantum} {times} {ecn}"
    return Held(f"fq_codel@linux limit {limit} quantum {quantum}B {times} {ecn} hash modulo", line)


def _child(number: int, held: Held) -> list[str]:
    """What a class of the kernel holds."""
    if not held.line:
        return []
    return [f"qdisc add dev f parent {HANDLE:x}:{number:x} handle {FIRST_CHILD + number:x}: {held.line}\n"]


def _matches(codes: Sequence[int]) -> str:
    return "".join(f" match dscp {code}" for code in codes)


def _filters(number: int, codes: Sequence[int]) -> list[str]:
    start = f"filter add dev f parent {HANDLE:x}: protocol ip prio 1 u32 match ip dsfield"
    return [f"{start} {code << 2:#x} 0xfc flowid {HANDLE:x}:{number:x}\n" for code in codes]


def _sorted_out(draw: random.Random, packets: list[Packet]) -> list[Packet]:
    """Gives each flow a DSCP, and some none."""
    code_of_flow = [draw.choice((0, *CODES, *CODES)) for _ in range(64)]
    return [packet._replace(dscp=code_of_flow[packet.flow]) for packet in packets]
