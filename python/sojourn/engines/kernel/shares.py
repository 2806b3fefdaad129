"""CAKE's shares in the kernel and in ours, beside the ideal: ``python -m sojourn.kernel.shares``.

Unresponsive senders keep every queue full, so that only the scheduler matters. The first seconds are left out.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import click

from sojourn.engines.kernel.cache import VERSIONS, Kernel, built
from sojourn.engines.kernel.compare import MARKED_CODE, SENT_CODE, our_aqm, record
from sojourn.engines.kernel.pattern import Naming, Packet, Pattern
from sojourn.studies.difference import compare_arrivals

RATE = 10_000_000
"""Shaper rate in bit/s. The link is a hundred times as fast."""
BYTES = 1514
LENGTH_S, LEFT_OUT_S = 12, 2


@dataclass(frozen=True)
class Load:
    """A flow with a constant rate and a jitter of half a gap."""

    dscp: int = 0
    source: int = 1
    destination: int = 16
    rate: int = RATE


@dataclass(frozen=True)
class Case:
    """CAKE's configuration, the loads, and the parties with their ideal shares."""

    name: str
    words: str
    loads: Sequence[Load]
    parties: Sequence[Sequence[int]]
    """Numbers of the loads of each party."""
    ideal: Sequence[float]
    """Ideal share of each party in percent of the rate."""


LOW = RATE // 4
"""Rate of each of many flows, more than its share."""
TINS = [Load(dscp=dscp) for dscp in (8, 0, 34, 46)]
ALONE_AND_NINE = [[0], list(range(1, 10))]
CASES = (
    Case(
        "bulk, best effort, video, voice",
        "diffserv4",
        TINS,
        [[0], [1], [2], [3]],
        [6.25, 18.75, 50, 25],
    ),
    Case(
        "bulk, best effort, voice",
        "diffserv3",
        [TINS[0], TINS[1], TINS[3]],
        [[0], [1], [2]],
        [6.25, 68.75, 25],
    ),
    Case(
        "host of 1 flow, host of 9, each to its own",
        "besteffort triple-isolate",
        [Load(rate=RATE), *(Load(source=2, destination=16 * (2 + n), rate=LOW) for n in range(9))],
        ALONE_AND_NINE,
        [50, 50],
    ),
    Case(
        "the same, all to one host",
        "besteffort triple-isolate",
        [Load(rate=RATE), *(Load(source=2, rate=LOW) for _ in range(9))],
        ALONE_AND_NINE,
        [10, 90],
    ),
    Case(
        "the same, all to one host",
        "besteffort dual-srchost",
        [Load(rate=RATE), *(Load(source=2, rate=LOW) for _ in range(9))],
        ALONE_AND_NINE,
        [50, 50],
    ),
    Case(
        "1 flow to a host, 9 to another, from one",
        "besteffort dual-dsthost",
        [Load(rate=RATE), *(Load(destination=32, rate=LOW) for _ in range(9))],
        ALONE_AND_NINE,
        [50, 50],
    ),
    Case(
        "host of 1 flow, host of 9",
        "besteffort flows",
        [Load(rate=RATE), *(Load(source=2, rate=LOW) for _ in range(9))],
        ALONE_AND_NINE,
        [10, 90],
    ),
    Case("ingress, three times the rate arrives", "besteffort flows ingress", [Load(rate=3 * RATE)], [[0]], [200 / 3]),
)


def pattern_of(case: Case, length_s: int = LENGTH_S) -> Pattern:
    """Arrivals of a case; deterministic."""
    draw, packets = random.Random(case.words), []
    for flow, load in enumerate(case.loads, 1):
        gap = BYTES * 8 * 10**9 // load.rate
        packets += [
            Packet(at + draw.randrange(gap // 2), BYTES, flow, 0, load.dscp, load.source, load.destination)
            for at in range(0, length_s * 10**9, gap)
        ]
    packets.sort()
    return Pattern(
        "cake@linux",
        f"cake bandwidth {RATE}bit {case.words} memlimit 400000",
        100 * RATE,
        0,
        1,
        packets,
        Naming.HASH,
        2 * 10**9,
    )


def shares(case: Case, kernel: Kernel) -> tuple[list[float], float]:
    """Share of each party in the kernel in percent of the rate; packets with the same fate in ours in percent."""
    pattern = pattern_of(case)
    [arrivals] = record(kernel, [pattern])
    assert arrivals.recorded is not None
    fate, sent_ns = (arrivals.recorded[name] for name in ("fate", "fate_ns"))
    begin = arrivals.setup["origin_ns"] + LEFT_OUT_S * 10**9
    within = (fate == SENT_CODE) | (fate == MARKED_CODE)
    within &= (sent_ns >= begin) & (sent_ns < begin + (LENGTH_S - LEFT_OUT_S) * 10**9)
    flow, size = arrivals.columns["flow"], arrivals.columns["bytes"]
    of_flow = [float(size[within & (flow == number)].sum()) for number in range(1, len(case.loads) + 1)]
    capacity_bytes = RATE * (LENGTH_S - LEFT_OUT_S) / 8
    percents = [100 * sum(of_flow[number] for number in party) / capacity_bytes for party in case.parties]
    return percents, compare_arrivals(arrivals, our_aqm(pattern.aqm, kernel)).agreement_percent


@click.command()
@click.option("--version", default=VERSIONS[0], type=click.Choice(VERSIONS), help="Kernel version.")
def main(version: str) -> None:
    """Print the table."""
    kernel = built(version)
    click.echo(f"| CAKE | among | ideal, % | Linux {kernel.version}, % | packets alike, % |\n|---|---|---|---|---|")
    for case in CASES:
        percents, alike = shares(case, kernel)
        ideal = " : ".join(f"{share:.4g}" for share in case.ideal)
        click.echo(
            f"| `{case.words}` | {case.name} | {ideal} | {' : '.join(f'{s:.2f}' for s in percents)} | {alike:.2f} |"
        )


if __name__ == "__main__":
    main()
