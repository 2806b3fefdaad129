"""Patterns for disciplines of newer kernels, set by netlink since tc may lack them: `dualpi2`, `cake_mq`."""

from __future__ import annotations

import random

from sojourn.engines.kernel.pattern import Naming, Pattern, random_packets, random_rate, random_time

UNLIMITED_RATE = 10**12
"""Rate in bit/s of a link that never limits."""
MAX_QUEUES = 8


def dualpi2(draw: random.Random, count: int) -> Pattern:
    """DualPI2 with random options: gains or RTTs, a step in time or packets, drop at enqueue or dequeue, limits."""
    rate = random_rate(draw)
    words = [
        f"limit {draw.choice((2, 10, 50, 127, 1000, draw.randint(1, 300)))}" if draw.random() < 0.6 else "",
        f"memlimit {draw.choice((draw.randint(2000, 30_000), draw.randint(3000, 300_000)))}"
        if draw.random() < 0.3
        else "",
        _controller(draw),
        f"coupling_factor {draw.choice((1, 2, 3, draw.randint(1, 255)))}" if draw.random() < 0.6 else "",
        draw.choice(("", f"step_thresh {random_time(draw, 100, 20_000)}", f"step_thresh {draw.randint(1, 30)}p")),
        f"min_qlen_step {draw.randint(0, 10)}" if draw.random() < 0.4 else "",
        draw.choice(("", "overflow", "drop_on_overload")),
        draw.choice(("", "drop_enqueue", "drop_dequeue")),
        f"classic_protection {draw.choice((0, 50, 100, draw.randint(0, 100)))}%" if draw.random() < 0.6 else "",
        draw.choice(("", "l4s_ect", "any_ect")),
    ]
    line = " ".join(["dualpi2", *filter(None, words)])
    overhead, seed = draw.choice((0, 24, draw.randint(1, 60))), draw.randrange(2**63)
    return Pattern("dualpi2@linux", line, rate, overhead, seed, random_packets(draw, rate, count), Naming.STACK)


def _controller(draw: random.Random) -> str:
    """Delays and gains, or the RTTs that they are derived from. Gains are large, because a pattern is short."""
    if draw.random() < 0.2:
        longest = round(10 ** draw.uniform(3.3, 5.7))
        typical = draw.choice(("", f" typical_rtt {draw.randint(longest // 10, longest)}us"))
        return f"max_rtt {longest}us{typical}" if draw.random() < 0.8 else f"typical_rtt {longest // 8}us"
    words = [
        f"target {random_time(draw, 500, 50_000)}" if draw.random() < 0.8 else "",
        f"tupdate {random_time(draw, 200, 40_000)}" if draw.random() < 0.8 else "",
        f"alpha {10 ** draw.uniform(-2, 2):.4f}" if draw.random() < 0.7 else "",
        f"beta {10 ** draw.uniform(-1, 2.5):.4f}" if draw.random() < 0.7 else "",
    ]
    return " ".join(filter(None, words))


def cake_mq(draw: random.Random, count: int) -> Pattern:
    """CAKE on several hardware queues that share one rate; a flow's number selects its queue. The link never limits.

    Each queue is `flowblind`, so that quanta have no effect: in the kernel all instances draw them from one random
    stream, here each from its own. There are no overflows, since BLUE would draw. `cake` covers flows and hosts.
    """
    shaped = random_rate(draw)
    words = [
        f"bandwidth {shaped}bit",
        draw.choice(("", "besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence")),
        "flowblind",
        f"rtt {random_time(draw, 50, 1_000_000)}" if draw.random() < 0.5 else "",
        draw.choice(("", "ingress", "egress")),
        draw.choice(("", "wash", "nowash")),
        "memlimit 100000000",
    ]
    line = " ".join(["cake_mq", *filter(None, words)])
    queues = draw.randint(2, MAX_QUEUES)
    codes = [draw.randrange(64) for _ in range(64)]
    packets = [packet._replace(dscp=codes[packet.flow]) for packet in random_packets(draw, shaped, count)]
    # Bound: all packets pass one queue while all queues are active.
    slowest = 2 * queues * sum(packet.bytes for packet in packets) * 8 * 10**9 // shaped
    seed = draw.randrange(2**63)
    aqm = f"cake_mq queues {queues} hash modulo"
    return Pattern(aqm, line, UNLIMITED_RATE, 0, seed, packets, Naming.HASH, slowest, queues=queues)
