"""Arrivals and parameters made up to bring out differences between a queue discipline of ours and the kernel's."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from sojourn.errors import unknown

MTU = 1514
"""Largest packet, and the kernel's idea of the link's."""
LEAST_BYTES = 28
FLOWS = 8


@dataclass(frozen=True)
class Pattern:
    """One queue, and what comes to it."""

    aqm: str
    """Ours."""
    line: str
    """The kernel's, in tc's words."""
    rate: int
    """Of the link, in bit/s."""
    overhead: int
    """Bytes that the link adds to each packet below the queue."""
    seed: int
    """Of the draws of the queue."""
    packets: list[tuple[int, int, int, int]]
    """Time in ns from the start of the pattern, bytes, flow, ECN field."""

    @property
    def length_ns(self) -> int:
        """Time from the start to when the queue is empty again, at the latest."""
        sent = sum(size + self.overhead for _, size, _, _ in self.packets) * 8 * 10**9 // self.rate
        return self.packets[-1][0] + sent


def pattern(aqm: str, seed: int, number: int, packets: int) -> Pattern:
    """Pattern `number` of a seed: the same every time."""
    name = ALIASES.get(aqm, aqm)
    if name not in LINES:
        raise unknown("queue manager", aqm, [*LINES, *ALIASES])
    draw = random.Random(f"{name} {seed} {number}")
    rate = round(10 ** draw.uniform(5.7, 8)) // 1000 * 1000
    ours, line = LINES[name]
    return Pattern(
        ours,
        line(draw, rate),
        rate,
        draw.choice((0, 0, 24)),
        draw.randrange(2**63),
        _packets(draw, rate, packets),
    )


def _packets(draw: random.Random, rate: int, count: int) -> list[tuple[int, int, int, int]]:
    """Phases of different load, sizes, burstiness, flows and ECN; two packets never come at one instant."""
    made: list[tuple[int, int, int, int]] = []
    at = draw.randrange(1000)
    while len(made) < count:
        load, sizes = draw.choice((0.3, 0.9, 1.05, 1.5, 4.0)), draw.choice(_SIZES)
        flows, field = draw.randint(1, FLOWS), draw.choice(((0,), (2,), (1,), (0, 2), (0, 1, 2, 3)))
        burst, random_gaps = draw.choice((1, 1, 4, 40)), draw.random() < 0.6
        for _ in range(draw.randint(20, 200)):
            size, flow, ecn = draw.choice(sizes), draw.randrange(flows), draw.choice(field)
            gap = size * 8e9 * burst / (rate * load)
            for _ in range(burst):
                made.append((at, size, flow, ecn))
                at += draw.randint(100, 2000)
            at += int(draw.expovariate(1 / gap) if random_gaps else gap)
        if draw.random() < 0.2:  # the queue runs empty, and its state ages
            at += int(draw.uniform(0.05, 2) * 1e9)
    return made[:count]


_SIZES = ((1500,), (MTU,), (60,), (60, 1500), (64, 300, 576, 1000, 1500), tuple(range(LEAST_BYTES, MTU + 1, 7)))

Line = Callable[[random.Random, int], str]


def _limit(draw: random.Random) -> int:
    return draw.choice((2, 10, 50, 127, 1000))


def _time(draw: random.Random, least: int, most: int) -> str:
    """A time from `least` to `most` microseconds, evenly in its logarithm."""
    return f"{round(least * (most / least) ** draw.random())}us"


def _ecn(draw: random.Random) -> str:
    return draw.choice((" ecn", " noecn"))


def _codel(draw: random.Random) -> str:
    threshold = f" ce_threshold {_time(draw, 500, 20_000)}" if draw.random() < 0.2 else ""
    return f"target {_time(draw, 500, 15_000)} interval {_time(draw, 16_000, 200_000)}{_ecn(draw)}{threshold}"


def _pie(draw: random.Random) -> str:
    gains = f"alpha {draw.randint(1, 8)} beta {draw.randint(8, 32)}"
    flags = draw.choice(("", " bytemode", " dq_rate_estimator"))
    return f"target {_time(draw, 2_000, 50_000)} tupdate {_time(draw, 5_000, 40_000)} {gains}{_ecn(draw)}{flags}"


def _red(draw: random.Random, rate: int, flags: str = "") -> str:
    low = draw.randint(4, 40) * 1500
    high = low * draw.choice((2, 3, 5))
    burst = -(-(2 * low + high) // 3000) + draw.randint(0, 20)
    most = high * draw.choice((2, 8))
    more = draw.choice(("", " ecn", " ecn harddrop", " ecn nodrop"))
    probability = draw.choice((0.02, 0.1, 0.5))
    return (
        f"red limit {most} min {low} max {high} avpkt 1000 burst {burst} bandwidth {rate // 1000}kbit "
        f"probability {probability}{more}{flags}"
    )


def _choke(draw: random.Random, rate: int) -> str:
    low = draw.randint(6, 40)
    high = low * draw.choice((2, 3, 5))
    burst = -(-(2 * low + high) // 3) + draw.randint(0, 20)
    return (
        f"choke limit {high * draw.choice((2, 8))} min {low} max {high} avpkt 1000 burst {burst} "
        f"bandwidth {rate // 1000}kbit probability {draw.choice((0.02, 0.1, 0.5))}{draw.choice(('', ' ecn'))}"
    )


def _flows(draw: random.Random) -> str:
    return f"flows {draw.choice((16, 64, 1024))} quantum {draw.choice((300, 1000, 1514, 3000))}"


def _sfq(draw: random.Random) -> str:
    head = draw.choice(("", " headdrop"))
    return f"sfq limit {draw.choice((20, 60, 127, 500))} depth {draw.choice((5, 30, 127))} quantum 1514{head}"


def _sfq_red(draw: random.Random) -> str:
    low = draw.randint(4, 20) * 1500
    high = low * draw.choice((2, 3))
    return (
        f"{_sfq(draw)} redflowlimit {high * 2} min {low} max {high} probability {draw.choice((0.02, 0.1, 0.5))}"
        f"{draw.choice(('', ' ecn'))}"
    )


LINES: dict[str, tuple[str, Line]] = {
    "codel": ("codel@linux", lambda draw, _: f"codel limit {_limit(draw)} {_codel(draw)}"),
    "fq_codel": (
        "fq_codel@linux hash modulo",
        lambda draw, _: f"fq_codel limit {_limit(draw)} {_flows(draw)} {_codel(draw)}",
    ),
    "pfifo": ("droptail", lambda draw, _: f"pfifo limit {_limit(draw)}"),
    "bfifo": ("droptail", lambda draw, _: f"bfifo limit {draw.choice((3000, 20_000, 150_000))}"),
    "pfifo_head_drop": ("drophead", lambda draw, _: f"pfifo_head_drop limit {_limit(draw)}"),
    "pie": ("pie@linux", lambda draw, _: f"pie limit {_limit(draw)} {_pie(draw)}"),
    "fq_pie": ("fq_pie hash modulo", lambda draw, _: f"fq_pie limit {_limit(draw)} {_flows(draw)} {_pie(draw)}"),
    "red": ("red@linux", _red),
    "ared": ("ared@linux-5.7", lambda draw, rate: _red(draw, rate, " adaptative")),
    "choke": ("choke", _choke),
    "sfq": ("sfq hash modulo", lambda draw, _: _sfq(draw)),
    "sfq_red": ("sfq_red hash modulo", lambda draw, _: _sfq_red(draw)),
}
"""By the kernel's name: ours, and a line of tc with parameters drawn."""
ALIASES = {"droptail": "pfifo", "drophead": "pfifo_head_drop"}
