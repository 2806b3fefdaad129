"""Patterns for `fq`, Linux's pacing scheduler."""

from __future__ import annotations

import random

from sojourn.engines.kernel.pattern import FLOWS, MTU, Naming, Packet, Pattern, random_packets, random_rate, random_time

GOLDEN_RATIO_64 = 0x61C8864680B583EB
"""Multiplier of the kernel's `hash_64`."""
DEFAULT_MASK, DEFAULT_BUCKETS = 1023, 1024
SMALL_QUANTUM, LARGE_QUANTUM = 256, 20_000


def fq(draw: random.Random, count: int) -> Pattern:
    """Round-robin flows, paced by `maxrate` or not, in bands by the priority of the DSCP.

    Packets have no departure times (EDT), so the horizon has no effect. Each flow has its own tree: the kernel garbage
    collects an idle flow when another one of its tree arrives, ours does not.
    """
    rate = random_rate(draw)
    paced = round(rate * 10 ** draw.uniform(-2, 0.1)) if draw.random() < 0.6 else 0
    quantum = draw.choice((0, MTU, draw.randint(SMALL_QUANTUM, LARGE_QUANTUM)))
    mask, buckets = draw.choice((0, 255, 65_535)), draw.choice((0, 512, 4096))
    words = [
        # No timer slack: timers in the guest are exact.
        "timer_slack 0",
        f"limit {_limit(draw)}" if draw.random() < 0.6 else "",
        f"flow_limit {draw.choice((2, 20, draw.randint(1, 100)))}" if draw.random() < 0.6 else "",
        f"quantum {quantum}" if quantum else "",
        f"initial_quantum {draw.choice((1, MTU, draw.randint(1, 50_000)))}" if draw.random() < 0.7 else "",
        f"maxrate {paced}bit" if paced else "",
        f"low_rate_threshold {round((paced or rate) * 10 ** draw.uniform(-1, 1))}bit" if draw.random() < 0.5 else "",
        f"refill_delay {random_time(draw, 200, 2_000_000)}" if draw.random() < 0.7 else "",
        f"ce_threshold {random_time(draw, 200, 200_000)}" if draw.random() < 0.5 else "",
        draw.choice(("", "", "", "pacing", "nopacing")),
        draw.choice(("", f"horizon {random_time(draw, 1000, 10_000_000)}")),
        draw.choice(("", "horizon_drop", "horizon_cap")),
        f"orphan_mask {mask}" if mask else "",
        f"buckets {buckets}" if buckets else "",
    ]
    share = draw.choice((1, 2, 4))
    numbers = _flow_numbers(draw, FLOWS * share, mask or DEFAULT_MASK, buckets or DEFAULT_BUCKETS)
    # At a low load flows become idle in between; at a high load queues build up due to pacing.
    load = min(rate, paced * draw.choice((1, 3, FLOWS))) if paced else rate
    packets = _assign_flows(draw, random_packets(draw, load, count), numbers)
    slowest = 0
    if paced:
        credit = sum(packet.bytes for packet in packets) + len(numbers) * max(quantum, 2 * MTU)
        slowest = 2 * credit * 8 * 10**9 // paced
    line = " ".join(["fq", *filter(None, words)])
    overhead, seed = draw.choice((0, 24, draw.randint(1, 60))), draw.randrange(2**63)
    return Pattern("fq@linux", line, rate, overhead, seed, packets, Naming.ORPHAN, slowest)


def _limit(draw: random.Random) -> int:
    return draw.choice((2, 10, 50, draw.randint(1, 300)))


def _flow_numbers(draw: random.Random, count: int, mask: int, buckets: int) -> list[int]:
    """Flow numbers up to `mask`, each in its own tree."""
    by_tree: dict[int, int] = {}
    for number in draw.sample(range(mask + 1), mask + 1 if mask < DEFAULT_MASK else DEFAULT_MASK):
        by_tree.setdefault(_tree(number, buckets), number)
        if len(by_tree) == count:
            break
    return list(by_tree.values())


def _tree(number: int, buckets: int) -> int:
    """Tree of a packet without a socket (`fq_classify`, `hash_ptr`)."""
    bits = buckets.bit_length() - 1
    return (2 * number + 1) * GOLDEN_RATIO_64 % 2**64 >> 64 - bits


def _assign_flows(draw: random.Random, packets: list[Packet], numbers: list[int]) -> list[Packet]:
    """Assign flow numbers and DSCPs, by flow or by packet, to the packets."""
    share = len(numbers) // FLOWS
    codes = draw.choice(((0,), (0, 2, 4, 6), range(64)))
    code_of_flow = {number: draw.choice(codes) for number in numbers}
    mixed = draw.random() < 0.3
    named = []
    for packet in packets:
        number = numbers[packet.flow + FLOWS * draw.randrange(share)]
        named.append(packet._replace(flow=number, dscp=draw.choice(codes) if mixed else code_of_flow[number]))
    return named
