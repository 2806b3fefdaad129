"""Patterns for `netem`: delay, all loss models, duplication, corruption, reordering, rate with cells, and slots."""

from __future__ import annotations

import math
import random
import re

from sojourn.engines.kernel.parent_patterns import random_child
from sojourn.engines.kernel.pattern import MTU, Naming, Pattern, random_packets, random_rate, random_time

DISTRIBUTIONS = ("normal", "pareto", "paretonormal")
TICK_NS = 64
"""tc converts delays and jitters, in whole microseconds, to ticks for the kernel."""
MAX_JITTERS = 5
"""Bound of a delay's deviation in jitters; a table's values reach 4."""


def netem(draw: random.Random, count: int) -> Pattern:
    """Random options of netem and, optionally, a child; ours gets the times as tc converts them."""
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
    ours = line.replace(delay, as_sent, 1).replace(slots, slots_as_sent, 1)
    child = random_child(draw, limits=(10_240,)) if draw.random() < 0.3 else None
    packets = random_packets(draw, rate, count)
    # Drawn last, so that patterns without tables do not change.
    tables = _tables(draw) if "distribution" in line and draw.random() < 0.3 else {}
    if tables:
        ours, line = (_with_tables(text, list(tables)) for text in (ours, line))
    # The child is the only class.
    more = (f"qdisc add dev f parent 10:1 handle 20: {child.line}\n",) if child else ()
    return Pattern(
        f"{ours}{child.braces if child else ''}",
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
    """Files for the delay and the slots, each of random 16-bit numbers; tc's message has room for 16,000 in all."""
    name, largest = f"made{draw.randrange(2**48)}", draw.choice((100, 8192, 32_767))
    sizes = [draw.choice((1, 3, 500, 4096, 7000)) for _ in range(2)]
    texts = ("\n".join(str(draw.randint(-largest - 1, largest)) for _ in range(size)) for size in sizes)
    return {f"{name}{part}": f"# made up\n{text}\n" for part, text in zip("ds", texts, strict=True)}


def _with_tables(line: str, names: list[str]) -> str:
    """Replace the distributions of a line by files."""
    return re.sub(
        r"(slot )?distribution \w+", lambda found: f"{found[1] or ''}distribution {names[found[1] is not None]}", line
    )


def _percent(draw: random.Random, low: float = 0.1, high: float = 60) -> str:
    percent = 10 ** draw.uniform(math.log10(low), math.log10(high))
    return f"{percent:.{draw.choice((0, 1, 4)) if percent >= 1 else 4}f}%"


def _correlation(draw: random.Random) -> str:
    return f" {draw.uniform(1, 100):.{draw.choice((0, 2))}f}%" if draw.random() < 0.4 else ""


def _delay(draw: random.Random) -> tuple[str, str, int]:
    """A delay or none: in tc's syntax, as tc converts it, and an upper bound in ns."""
    if draw.random() < 0.2:
        return "", "", 0
    mean, jitter = random_time(draw, 50, 200_000), random_time(draw, 10, 100_000)
    if draw.random() < 0.3:
        return f"delay {mean}", f"delay {_to_ticks(mean)}ns", _to_ticks(mean)
    more = _correlation(draw)
    if draw.random() < 0.6:
        more += f" distribution {draw.choice(DISTRIBUTIONS)}"
    return (
        f"delay {mean} {jitter}{more}",
        f"delay {_to_ticks(mean)}ns {_to_ticks(jitter)}ns{more}",
        _to_ticks(mean) + MAX_JITTERS * _to_ticks(jitter),
    )


def _to_ticks(time: str) -> int:
    """Time in ns after tc's conversion to ticks."""
    number = time.rstrip("mus")
    us = int(float(number) * {"s": 1e6, "ms": 1e3, "us": 1.0}[time[len(number) :]])
    return us * 1000 // TICK_NS * TICK_NS


def _loss(draw: random.Random) -> str:
    """Any loss model, with any number of its parameters."""
    ecn = draw.choice(("", " ecn"))
    kind = draw.choice(("", "random", "state", "gemodel"))
    if not kind:
        return ""
    if kind == "random":
        return f"loss {_percent(draw)}{_correlation(draw)}{ecn}"
    more = [_percent(draw, 1, 60) for _ in range({"state": 4, "gemodel": 3}[kind])]
    parameters = more[: draw.randint(0, len(more))]
    return " ".join([f"loss {kind} {_percent(draw)}", *parameters]) + ecn


def _chance(draw: random.Random, word: str, share: float) -> str:
    return f"{word} {_percent(draw)}{_correlation(draw)}" if draw.random() < share else ""


def _reorder(draw: random.Random) -> str:
    gap = f" gap {draw.randint(1, 9)}" if draw.random() < 0.5 else ""
    return f"{words}{gap}" if (words := _chance(draw, "reorder", 0.3)) else ""


def _rate(draw: random.Random, link: int, count: int) -> tuple[str, int]:
    """A rate or none, and twice the time that all packets take at it."""
    if draw.random() < 0.6:
        return "", 0
    paced = round(link * 10 ** draw.uniform(-0.7, 0.5))
    added = draw.choice(("", f" {draw.randint(-20, 60)}", f" {draw.randint(0, 40)} {draw.randint(20, 100)}"))
    if added.count(" ") == 2:
        added += draw.choice(("", f" {draw.randint(0, 12)}"))
    return f"rate {paced}bit{added}", 2 * count * 4 * MTU * 8 * 10**9 // paced


def _slots(draw: random.Random) -> tuple[str, str, int]:
    """Slots or none: in tc's syntax, as tc converts them, and the maximum time between two slots."""
    if draw.random() < 0.7:
        return "", "", 0
    packets = f" packets {draw.randint(1, 20)}" if draw.random() < 0.6 else ""
    size = f" bytes {draw.randint(500, 20_000)}" if draw.random() < 0.4 else ""
    low, high = random_time(draw, 20, 3000), random_time(draw, 3000, 20_000)
    if draw.random() < 0.5:
        words, longest = ["slot", *draw.choice(((high,), (low, high)))], _to_ns(high)
    else:
        words = ["slot", "distribution", draw.choice(DISTRIBUTIONS), high, low]
        longest = _to_ns(high) + MAX_JITTERS * _to_ns(low)
    sent = [f"{_to_ns(word)}ns" if word in (low, high) else word for word in words]
    return " ".join(words) + packets + size, " ".join(sent) + packets + size, longest


def _to_ns(time: str) -> int:
    """Time in ns as tc converts it, truncated in floating point."""
    number = time.rstrip("mus")
    return int(float(number) * {"s": 1e9, "ms": 1e6, "us": 1e3}[time[len(number) :]])
