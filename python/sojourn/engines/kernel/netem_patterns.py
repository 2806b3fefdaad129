"""Patterns for `netem`: delays, losses by every model, duplicates, damage, reordering, rates with cells, and slots."""

from __future__ import annotations

import math
import random
import re

from sojourn.engines.kernel.made import MTU, Naming, Pattern, random_packets, random_rate, random_time
from sojourn.engines.kernel.parent_patterns import random_held

DISTRIBUTIONS = ("normal", "pareto", "paretonormal")
TICK_NS = 64
"""tc counts delays and jitters in whole microseconds, and tells the kernel of them in ticks."""
FARTHEST = 5
"""A table's values reach 4 jitters from the mean."""


def netem(draw: random.Random, count: int) -> Pattern:
    """One line of tc's words, which ours takes with the times as tc sends them, with something in the braces or not."""
    rate = random_rate(draw)
    delay, as_sent, longest = _delay(draw)
    paced, slowest = _rate(draw, rate, count)
    slots, slots_as_sent, between = _slots(draw)
    words = [
        f"limit {draw.choice((2, 10, 50, 1000, draw.randint(1, 300)))}",
        delay,
        _loss(draw),
        _chance(draw, "duplicate", 0.3),
        _chance(draw, "corrupt", 0.3),
        _reorder(draw) if delay else "",
        paced,
        slots,
    ]
    line = " ".join(["netem", *filter(None, words)])
    own = line.replace(delay, as_sent, 1).replace(slots, slots_as_sent, 1)
    child = random_held(draw, limits=(10_240,)) if draw.random() < 0.3 else None
    packets = random_packets(draw, rate, count)
    # Drawn behind all else, so that a pattern without a table is what it always was.
    tables = _tables(draw) if "distribution" in line and draw.random() < 0.3 else {}
    if tables:
        own, line = (_by_tables(text, list(tables)) for text in (own, line))
    # What is in the braces is the only class.
    more = (f"qdisc add dev f parent 10:1 handle 20: {child.line}\n",) if child else ()
    return Pattern(
        f"{own}{child.braces if child else ''}",
        line,
        rate,
        draw.randint(0, 60),
        draw.randrange(2**63),
        packets,
        Naming.STACK,
        longest + slowest + 2 * count * between + 2 * count * 2 * MTU * 8 * 10**9 // rate,
        more,
        complete=True,
        copies=True,
        tables=tables,
    )


def _tables(draw: random.Random) -> dict[str, str]:
    """A file for the delay and one for slots, each with any numbers of 16 bits; 16,000 in all fit into tc's message."""
    name, most = f"made{draw.randrange(2**48)}", draw.choice((100, 8192, 32_767))
    sizes = [draw.choice((1, 3, 500, 4096, 7000)) for _ in range(2)]
    texts = ("\n".join(str(draw.randint(-most - 1, most)) for _ in range(size)) for size in sizes)
    return {f"{name}{part}": f"# made up\n{text}\n" for part, text in zip("ds", texts, strict=True)}


def _by_tables(line: str, names: list[str]) -> str:
    """The line with files in place of every distribution."""
    return re.sub(
        r"(slot )?distribution \w+", lambda found: f"{found[1] or ''}distribution {names[found[1] is not None]}", line
    )


def _percent(draw: random.Random, least: float = 0.1, most: float = 60) -> str:
    percent = 10 ** draw.uniform(math.log10(least), math.log10(most))
    return f"{percent:.{draw.choice((0, 1, 4)) if percent >= 1 else 4}f}%"


def _correlation(draw: random.Random) -> str:
    return f" {draw.uniform(1, 100):.{draw.choice((0, 2))}f}%" if draw.random() < 0.4 else ""


def _delay(draw: random.Random) -> tuple[str, str, int]:
    """A delay or none, in tc's words and as the kernel hears of it, and the longest there may be."""
    if draw.random() < 0.2:
        return "", "", 0
    mean, jitter = random_time(draw, 50, 200_000), random_time(draw, 10, 100_000)
    if draw.random() < 0.3:
        return f"delay {mean}", f"delay {_sent(mean)}ns", _sent(mean)
    more = _correlation(draw)
    if draw.random() < 0.6:
        more += f" distribution {draw.choice(DISTRIBUTIONS)}"
    return (
        f"delay {mean} {jitter}{more}",
        f"delay {_sent(mean)}ns {_sent(jitter)}ns{more}",
        _sent(mean) + FARTHEST * _sent(jitter),
    )


def _sent(time: str) -> int:
    """In ns: what tc makes of a time."""
    number = time.rstrip("mus")
    us = int(float(number) * {"s": 1e6, "ms": 1e3, "us": 1.0}[time[len(number) :]])
    return us * 1000 // TICK_NS * TICK_NS


def _loss(draw: random.Random) -> str:
    """Any model, with every number of its parameters."""
    ecn = draw.choice(("", " ecn"))
    kind = draw.choice(("", "random", "state", "gemodel"))
    if not kind:
        return ""
    if kind == "random":
        return f"loss {_percent(draw)}{_correlation(draw)}{ecn}"
    more = [_percent(draw, 1, 60) for _ in range({"state": 4, "gemodel": 3}[kind])]
    given = more[: draw.randint(0, len(more))]
    return " ".join([f"loss {kind} {_percent(draw)}", *given]) + ecn


def _chance(draw: random.Random, word: str, share: float) -> str:
    return f"{word} {_percent(draw)}{_correlation(draw)}" if draw.random() < share else ""


def _reorder(draw: random.Random) -> str:
    gap = f" gap {draw.randint(1, 9)}" if draw.random() < 0.5 else ""
    return f"{words}{gap}" if (words := _chance(draw, "reorder", 0.3)) else ""


def _rate(draw: random.Random, link: int, count: int) -> tuple[str, int]:
    """A rate of its own or none, and how long that takes for all packets, twice."""
    if draw.random() < 0.6:
        return "", 0
    paced = round(link * 10 ** draw.uniform(-0.7, 0.5))
    added = draw.choice(("", f" {draw.randint(-20, 60)}", f" {draw.randint(0, 40)} {draw.randint(20, 100)}"))
    if added.count(" ") == 2:
        added += draw.choice(("", f" {draw.randint(0, 12)}"))
    return f"rate {paced}bit{added}", 2 * count * 4 * MTU * 8 * 10**9 // paced


def _slots(draw: random.Random) -> tuple[str, str, int]:
    """Slots or none, in tc's words and as the kernel hears of them, and the longest time between two."""
    if draw.random() < 0.7:
        return "", "", 0
    packets = f" packets {draw.randint(1, 20)}" if draw.random() < 0.6 else ""
    size = f" bytes {draw.randint(500, 20_000)}" if draw.random() < 0.4 else ""
    least, most = random_time(draw, 20, 3000), random_time(draw, 3000, 20_000)
    if draw.random() < 0.5:
        words, longest = ["slot", *draw.choice(((most,), (least, most)))], _cut(most)
    else:
        words = ["slot", "distribution", draw.choice(DISTRIBUTIONS), most, least]
        longest = _cut(most) + FARTHEST * _cut(least)
    sent = [f"{_cut(word)}ns" if word in (least, most) else word for word in words]
    return " ".join(words) + packets + size, " ".join(sent) + packets + size, longest


def _cut(time: str) -> int:
    """In ns: a time of which tc sends these, cut off where its product is a hair below."""
    number = time.rstrip("mus")
    return int(float(number) * {"s": 1e9, "ms": 1e6, "us": 1e3}[time[len(number) :]])
