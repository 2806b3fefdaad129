"""The policer compared with a second implementation of act_police.c in Python, and TCP and bursts through it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

import sojourn as sj
from sojourn.engines.kernel.qdisc import queue
from sojourn.engines.ns2.traffic import _cbr

TICK_NS = 64


def ratio(per_second: int) -> tuple[int, int]:
    """Multiplier and shift of psched_ratecfg_precompute: the quotient has 32 bits."""
    factor, shift = 10**9, 0
    while not factor // per_second >> 31 & 1 and factor < 1 << 63:
        factor, shift = factor << 1, shift + 1
    return factor // per_second, shift


@dataclass
class Policer:
    """A policer as the kernel has it, from tc's parameters; sizes in bytes."""

    rate_bps: int
    burst: int
    peak_bps: int = 0
    mtu: int = 2040
    overhead: int = 0
    mpu: int = 0
    is_atm: bool = False
    last_ns: int = 0
    tokens: int = field(init=False)
    peak_tokens: int = field(init=False)

    def __post_init__(self) -> None:
        per_second = self.rate_bps // 8
        self.bucket = -(-self.burst * 10**9 // (per_second * TICK_NS)) * TICK_NS
        self.peak_bucket = self.time(self.peak_bps, self.mtu) if self.peak_bps else 0
        self.tokens, self.peak_tokens = self.bucket, self.peak_bucket

    def time(self, bps: int, size: int) -> int:
        """Time of a packet: psched_l2t_ns."""
        wire = max(size + self.overhead, self.mpu)
        if self.is_atm:
            wire = (wire + 47) // 48 * 53
        factor, shift = ratio(bps // 8)
        return wire * factor >> shift

    def passes(self, now_ns: int, size: int) -> bool:
        """Whether a packet conforms: tcf_police_act."""
        if size > self.mtu:
            return False
        gained = min(now_ns - self.last_ns, self.bucket)
        peak = 0
        if self.peak_bps:
            peak = min(gained + self.peak_tokens, self.peak_bucket) - self.time(self.peak_bps, size)
        tokens = min(gained + self.tokens, self.bucket) - self.time(self.rate_bps, size)
        if tokens < 0 or peak < 0:
            return False
        self.last_ns, self.tokens, self.peak_tokens = now_ns, tokens, peak
        return True


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("police rate 7777777bit burst 5000B", Policer(7_777_777, 5000)),
        ("police rate 64kbit burst 1514B", Policer(64_000, 1514)),
        ("police rate 999999999bit burst 20000B", Policer(999_999_999, 20_000)),
        (
            "police rate 33333333bit burst 9000B peakrate 77777777bit mtu 1600B",
            Policer(33_333_333, 9000, 77_777_777, 1600),
        ),
        (
            "police rate 1mbit burst 4000B overhead 40 mpu 84 linklayer atm",
            Policer(1_000_000, 4000, overhead=40, mpu=84, is_atm=True),
        ),
    ],
)
def test_verdicts_of_the_second_implementation(text: str, model: Policer) -> None:
    draw, ours, now = random.Random(text), sj.Queue(text), 0
    passed = 0
    for _ in range(20_000):
        # A third of the packets beside a burst before; on average twice the rate.
        now += draw.choice((0, draw.randrange(1, 10**10 * 800 // model.rate_bps)))
        size = draw.choice((40, 64, 577, 1499, 1514, 1700, 2100))
        conforms = model.passes(now, size)
        assert (ours.push(now, size) == "queued") == conforms, (now, size)
        while ours.pop(now):
            passed += 1
    assert 1000 < passed < 19_000


def through(aqm: str, flows: str) -> tuple[float, dict[str, Any]]:
    """Goodput in bit/s, and the statistics of the link."""
    link = f'rate = "1 Gbit/s"\ndelay = "10 ms"\naqm = "{aqm}"'
    found = sj.Scenario.parse(f'duration = "30 s"\nwarmup = "5 s"\n[link]\n{link}\n{flows}').run(seed=1)
    return found.summary["goodput_bps"][0], found.links.row(0, named=True)


TCP = '[[flows]]\nkind = "tcp"\ncc = "cubic"\nrtt = "30 ms"\n'


@pytest.mark.parametrize("bps", [7_777_777, 19_999_999])
def test_tcp_gets_at_most_the_rate_and_no_delay(bps: int) -> None:
    shares = []
    # Buckets of 5, 20 and 50 ms at the rate, around the round-trip time of 30 ms.
    for bucket_ms in (5, 20, 50):
        goodput, link = through(f"police rate {bps}bit burst {bps // 8 * bucket_ms // 1000}B", TCP)
        shares.append(goodput / bps)
        assert link["dropped_early"] == link["dropped"] > 0
        assert link["sojourn_p99_ms"] < 1
    assert shares == sorted(shares) and shares[0] < 0.5 < 0.9 < shares[-1] < 1


def test_a_burst_passes_as_far_as_the_bucket_reaches() -> None:
    # 8 Mbit/s in periods of 100 ms: 100 packets of 1000 B at once, of which a bucket of 50 kB passes 50.
    flows = '[[flows]]\nkind = "cbr"\nrate = "8 Mbit/s"\nsize = "1000 B"\nrtt = "20 ms"\n'
    _, smooth = through("police rate 8mbit burst 50000B", flows)
    _, bursty = through("police rate 8mbit burst 50000B", f'{flows}period = "100 ms"\n')
    assert smooth["dropped"] == 0
    assert bursty["drop_rate"] == pytest.approx(0.5, abs=1e-3) and bursty["dropped_early"] == bursty["dropped"]


def test_other_engines() -> None:
    aqm = "police rate 1mbit burst 9kB { codel }"
    link = sj.Scenario.parse(f'duration = "1 s"\n[link]\nrate = "1 Mbit/s"\naqm = "{aqm}"\n{TCP}').document["link"]
    assert "police rate 1Mbit/s burst 9000B { codel }" in queue("link", link).line
    flow = {"kind": "cbr", "rate": "1 Mbit/s", "period": "100 ms"}
    assert _cbr(0, flow, 1000, {"stop_ns": None}, [0]) == []
