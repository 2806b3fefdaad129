"""Random arrivals and parameters that expose differences between our queue disciplines and the kernel's.

Values are deliberately not round: rates at which no packet takes whole microseconds, odd sizes, thresholds that are no
multiples of a packet, times with fractions, and parameters that tc derives itself.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from sojourn.base.errors import known_name
from sojourn.engines.kernel.cake_patterns import cake, cobalt
from sojourn.engines.kernel.coupled_patterns import cake_mq, dualpi2
from sojourn.engines.kernel.fq_patterns import fq
from sojourn.engines.kernel.netem_patterns import netem
from sojourn.engines.kernel.parent_patterns import htb, prio, tbf
from sojourn.engines.kernel.pattern import FLOWS, MTU, Naming, Pattern, random_packets, random_rate, random_time


def pattern(aqm: str, seed: int, number: int, packets: int) -> Pattern:
    """Pattern `number` of a seed; deterministic."""
    known = known_name("queue manager", aqm, [*NAMES, *ALIASES])
    name = ALIASES.get(known, known)
    draw = random.Random(f"{name} {seed} {number}")
    if name in GENERATORS:
        return GENERATORS[name](draw, packets)
    rate = random_rate(draw)
    profile, line = LINES[name]
    return Pattern(
        profile,
        line(draw, rate),
        rate,
        draw.choice((0, 24, draw.randint(1, 60))),
        draw.randrange(2**63),
        random_packets(draw, rate, packets),
    )


def supports(kernel: str, aqm: str) -> bool:
    """Whether a Linux version has a discipline."""
    since = SINCE.get(ALIASES.get(aqm, aqm), "0.0")
    this, first = ([int(part) for part in version.split(".")[:2]] for version in (kernel, since))
    return this >= first


Line = Callable[[random.Random, int], str]


def _limit(draw: random.Random) -> int:
    return draw.choice((2, 10, 50, 127, 1000, draw.randint(1, 300)))


def _ecn(draw: random.Random) -> str:
    return draw.choice((" ecn", " noecn"))


def _codel(draw: random.Random) -> str:
    threshold = f" ce_threshold {random_time(draw, 500, 20_000)}" if draw.random() < 0.2 else ""
    return (
        f"target {random_time(draw, 500, 15_000)} interval {random_time(draw, 16_000, 200_000)}{_ecn(draw)}{threshold}"
    )


def _fq_codel(draw: random.Random) -> str:
    batch = f" drop_batch {draw.randint(1, 100)}" if draw.random() < 0.3 else ""
    return f"fq_codel limit {_limit(draw)} {_flows(draw)} {_codel(draw)}{batch}"


def _pie(draw: random.Random) -> str:
    gains = f"alpha {draw.randint(0, 32)} beta {draw.randint(0, 32)}"
    flags = draw.choice(("", " bytemode", " dq_rate_estimator"))
    times = f"target {random_time(draw, 2_000, 50_000)} tupdate {random_time(draw, 5_000, 40_000)}"
    return f"{times} {gains}{_ecn(draw)}{flags}"


def _average(draw: random.Random) -> int:
    """RED's `avpkt`."""
    return draw.choice((1000, 1500, draw.randint(40, MTU)))


def _thresholds(draw: random.Random, unit: int, lowest: int, highest: int) -> tuple[int, int]:
    """`min` and `max`, with `min` from `lowest` to `highest` times `unit`."""
    low = draw.randint(lowest * unit, highest * unit)
    return low, max(low + 1, round(low * draw.choice((2, 3, 5, draw.uniform(1.1, 5)))))


def _weight(draw: random.Random, low: int, high: int, unit: int) -> str:
    """A burst that tc accepts; possibly none if tc's default is at least `min`, as tc requires."""
    burst = -(-(2 * low + high) // (3 * unit))
    shortest = "" if (2 * low + high) // (3 * unit) * unit >= low else f" burst {burst}"
    return draw.choice(
        (shortest, f" burst {burst + draw.randint(0, 20)}", f" burst {burst + draw.randint(0, 3 * burst)}")
    )


def _bandwidth(draw: random.Random, rate: int) -> str:
    """The link's rate in bit/s or kbit/s, or another one."""
    other = round(10 ** draw.uniform(5, 9))
    return f" bandwidth {draw.choice((f'{rate}bit', f'{rate // 1000}kbit', f'{rate / 1e6:.4f}mbit', f'{other}bit'))}"


def _probability(draw: random.Random) -> str:
    return f" probability {draw.choice((0.02, 0.1, 0.5, 1, round(10 ** draw.uniform(-3, 0), 5)))}"


def _red(draw: random.Random, rate: int, flags: str = "") -> str:
    average = _average(draw)
    low, high = _thresholds(draw, average, 4, 40)
    limit = round(high * draw.uniform(1.05, 8))
    more = draw.choice(("", " ecn", " ecn harddrop", " ecn nodrop", " ecn harddrop nodrop"))
    thresholds = f" min {low} max {high}{_weight(draw, low, high, average)}"
    if draw.random() < 0.1:
        limit, thresholds = max(limit, 48 * average), draw.choice(("", f" max {limit // 3}"))
    bandwidth = draw.choice(("", *3 * (_bandwidth(draw, rate),)))
    return f"red limit {limit}{thresholds} avpkt {average}{bandwidth}{_probability(draw)}{more}{flags}"


def _choke(draw: random.Random, rate: int) -> str:
    low, high = _thresholds(draw, 1, 6, 40)
    thresholds = f" min {low} max {high}{_weight(draw, low, high, 1)}"
    limit = round(high * draw.uniform(1.05, 8))
    if _fills_ring(limit):
        limit = round(high * draw.uniform(1.05, 8))
    if draw.random() < 0.1:
        limit, thresholds = max(limit, 60), ""
    more = draw.choice(("", " ecn"))
    return f"choke limit {limit}{thresholds} avpkt {_average(draw)}{_bandwidth(draw, rate)}{_probability(draw)}{more}"


def _fills_ring(limit: int) -> bool:
    """Whether CHOKe's ring in the kernel, a power of two, has little room for holes.

    Then the kernel may lose packets, after which nothing can be compared, so such limits are drawn less often.
    """
    return 10 * limit > 7 << limit.bit_length()


def _flows(draw: random.Random) -> str:
    quantum = draw.choice((300, 1000, 1514, 3000, draw.randint(100, 9000)))
    return f"flows {draw.choice((16, 64, 1024))} quantum {quantum}"


def _sfq(draw: random.Random) -> str:
    head = draw.choice(("", " headdrop"))
    quantum = draw.choice((1514, draw.randint(100, 5000)))
    depth = draw.choice((5, 30, 127, draw.randint(2, 127)))
    return f"sfq limit {draw.choice((20, 60, 127, 500, draw.randint(2, 300)))} depth {depth} quantum {quantum}{head}"


def _sfq_red(draw: random.Random) -> str:
    average = _average(draw)
    low, high = _thresholds(draw, average, 4, 20)
    weight = f" avpkt {average}{_weight(draw, low, high, average)}"
    red = f" redflowlimit {round(high * draw.uniform(1.05, 3))} min {low} max {high}{weight}{_probability(draw)}"
    return f"{_sfq(draw)}{red}{draw.choice(('', ' ecn', ' ecn harddrop'))}"


def sfb(draw: random.Random, count: int) -> Pattern:
    """SFB with flows set by filters, with and without rehashing.

    No double buffering: the kernel hashes the slot that it warms up by addresses, even with a filter.
    """
    rate = random_rate(draw)
    max_length = draw.randint(2, 40)
    steps = f"increment {10 ** draw.uniform(-4, -0.5):.6f} decrement {10 ** draw.uniform(-5, -1.5):.6f}"
    penalty = f"penalty_rate {draw.choice((0, 10, draw.randint(1, 2000)))} penalty_burst {draw.choice((0, 20, 3))}"
    rehash = f"rehash {draw.choice((0, 600_000, draw.randint(5, 3000)))} db 0"
    line = f"sfb {rehash} limit {_limit(draw)} max {max_length} target {draw.randint(1, max_length)} {steps} {penalty}"
    share = draw.choice((1, 4))
    packets = [
        packet._replace(flow=1 + packet.flow + FLOWS * draw.randrange(share))
        for packet in random_packets(draw, rate, count)
    ]
    overhead, seed = draw.randint(0, 60), draw.randrange(2**63)
    return Pattern("sfb@tc", line, rate, overhead, seed, packets, Naming.SALT)


LINES: dict[str, tuple[str, Line]] = {
    "codel": ("codel@linux", lambda draw, _: f"codel limit {_limit(draw)} {_codel(draw)}"),
    "fq_codel": ("fq_codel@linux hash modulo", lambda draw, _: _fq_codel(draw)),
    "pfifo": ("droptail", lambda draw, _: f"pfifo limit {_limit(draw)}"),
    "bfifo": ("droptail", lambda draw, _: f"bfifo limit {draw.choice((3000, 20_000, draw.randint(1514, 150_000)))}"),
    "pfifo_head_drop": ("drophead", lambda draw, _: f"pfifo_head_drop limit {_limit(draw)}"),
    "pie": ("pie@linux", lambda draw, _: f"pie limit {_limit(draw)} {_pie(draw)}"),
    "fq_pie": ("fq_pie hash modulo", lambda draw, _: f"fq_pie limit {_limit(draw)} {_flows(draw)} {_pie(draw)}"),
    "red": ("red@linux", _red),
    "ared": ("ared@linux-5.7", lambda draw, rate: _red(draw, rate, " adaptative")),
    "choke": ("choke", _choke),
    "sfq": ("sfq hash modulo", lambda draw, _: _sfq(draw)),
    "sfq_red": ("sfq_red hash modulo", lambda draw, _: _sfq_red(draw)),
}
"""By the kernel's name: our queue manager, and a tc line with random parameters."""
GENERATORS: dict[str, Callable[[random.Random, int], Pattern]] = {
    "cake": cake,
    "cobalt": cobalt,
    "sfb": sfb,
    "tbf": tbf,
    "prio": prio,
    "htb": htb,
    "fq": fq,
    "netem": netem,
    "dualpi2": dualpi2,
    "cake_mq": cake_mq,
}
"""By the kernel's name: generators of patterns that need more than a random line."""
NAMES = (*LINES, *GENERATORS)
SINCE = {"dualpi2": "6.17", "cake_mq": "7.0"}
"""First Linux version of newer disciplines, by the kernel's name."""
ALIASES = {"droptail": "pfifo", "drophead": "pfifo_head_drop"}
