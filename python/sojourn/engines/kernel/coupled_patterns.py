"""Patterns for what only newer kernels have: `dualpi2`, and `cake_mq` with its shared rate. tc need not know them."""

from __future__ import annotations

import random

from sojourn.engines.kernel.made import Naming, Pattern, random_packets, random_rate, random_time

FASTEST = 10**12
"""In bit/s: what stands for a link that does not limit."""
MOST_QUEUES = 8


def dualpi2(draw: random.Random, count: int) -> Pattern:
    """DualPI2 with tc's words: gains or round-trip times, a step in time or packets, either way to drop, limits."""
    rate = random_rate(draw)
    words = [
        f"limit {draw.choice((2, 10, 50, 127, 1000, draw.randint(1, 300)))}" if draw.random() < 0.6 else "",
        f"memlimit {draw.choice((draw.randint(2000, 30_000), draw.randint(3000, 300_000)))}"
        if draw.random() < 0.3
        else "",
        _steering(draw),
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


def _steering(draw: random.Random) -> str:
    """Delays and gains, or the round-trip times that they follow from. Gains are large where a pattern is short."""
    if draw.random() < 0.2:
        most = round(10 ** draw.uniform(3.3, 5.7))
        usual = draw.choice(("", f" typical_rtt {draw.randint(most // 10, most)}us"))
        return f"max_rtt {most}us{usual}" if draw.random() < 0.8 else f"typical_rtt {most // 8}us"
    words = [
        f"target {random_time(draw, 500, 50_000)}" if draw.random() < 0.8 else "",
        f"tupdate {random_time(draw, 200, 40_000)}" if draw.random() < 0.8 else "",
        f"alpha {10 ** draw.uniform(-2, 2):.4f}" if draw.random() < 0.7 else "",
        f"beta {10 ** draw.uniform(-1, 2.5):.4f}" if draw.random() < 0.7 else "",
    ]
    return " ".join(filter(None, words))


def cake_mq(draw: random.Random, count: int) -> Pattern:
    """CAKE on several hardware queues that share one rate; a flow's number chooses its queue. The link limits nothing.

    Each queue is `flowblind`, so that quanta, for which all instances draw from one stream there and from one each
    here, decide nothing. There are no overflows, in which BLUE would draw. What flows and hosts do is `cake`'s.
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
    queues = draw.randint(2, MOST_QUEUES)
    codes = [draw.randrange(64) for _ in range(64)]
    packets = [packet._replace(dscp=codes[packet.flow]) for packet in random_packets(draw, shaped, count)]
    # All packets through one of the queues that all were active.
    slowest = 2 * queues * sum(packet.bytes for packet in packets) * 8 * 10**9 // shaped
    seed = draw.randrange(2**63)
    ours = f"cake_mq queues {queues} hash modulo"
    return Pattern(ours, line, FASTEST, 0, seed, packets, Naming.HASH, slowest, queues=queues)
