"""netem compared with a second implementation in Python, from Linux's sch_netem.c, on the same random stream."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.base.errors import InputError
from sojourn.studies.runs import store
from sojourn.studies.runs.store import run_hash

MASK = (1 << 64) - 1
TABLED = """
duration = "2 s"
[link]
rate = "10 Mbit/s"
aqm = "netem delay 20ms 5ms distribution bell"
[reverse]
aqm = "htb default 10 { class 10 rate 9mbit { netem delay 20ms 5ms slot distribution ./bell.dist 9ms 1ms } }"
[[changes]]
at = "1 s"
reverse.aqm = "netem delay 9ms 1ms distribution bell.dist"
[[flows]]
kind = "tcp"
rtt = "10 ms"
"""
GOLDEN = 0x9E37_79B9_7F4A_7C15
UINT32_MAX = (1 << 32) - 1


def mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB) & MASK
    return z ^ (z >> 31)


class Stream:
    """Random stream of the queue for a seed: splitmix64."""

    def __init__(self, seed: int) -> None:
        state = mix(seed ^ GOLDEN)
        for byte in b"queue":
            state = mix(state ^ byte)
        self.state = mix(state)

    def u32(self) -> int:
        self.state = (self.state + GOLDEN) & MASK
        return mix(self.state) >> 32


def scaled(percent: float) -> int:
    return round(percent / 100 * UINT32_MAX)


@dataclass
class Crandom:
    rho: int
    last: int

    def next(self, stream: Stream) -> int:
        value = stream.u32()
        if self.rho:
            rho = self.rho + 1
            self.last = (value * ((1 << 32) - rho) + self.last * rho) >> 32
            return self.last
        return value


@dataclass
class Netem:
    """Uniform jitter, random loss, reordering and a rate; netem's other features are off."""

    stream: Stream
    latency: int
    jitter: int
    loss: float
    reorder: float = 0
    gap: int = 0
    rate: int = 0
    """Bytes per second."""
    correlations: tuple[float, float, float] = (0, 0, 0)
    """Correlations of delay, loss and reordering."""
    limit: int = 1000
    counter: int = 0
    front: list[tuple[int, int]] = field(default_factory=list)
    waiting: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        delay, loss, reorder = self.correlations
        sent = any(self.correlations)
        draw = self.stream.u32
        self.delay_cor = Crandom(scaled(delay), draw() if sent else 0)
        self.loss_cor = Crandom(scaled(loss), draw() if sent else 0)
        if sent:
            draw()  # draw for duplication
        self.reorder_cor = Crandom(scaled(reorder), draw() if self.reorder else 0)

    def enqueue(self, now: int, packet: int, size: int) -> str:
        if self.loss and scaled(self.loss) >= self.loss_cor.next(self.stream):
            return "dropped:early"
        if len(self.front) + len(self.waiting) >= self.limit:
            return "dropped:limit"
        held_up = self.gap == 0 or self.counter < self.gap - 1
        if held_up or scaled(self.reorder) < self.reorder_cor.next(self.stream):
            self.counter += 1
            self.waiting.append((self.time_to_send(now, size), packet))
            self.waiting.sort(key=lambda one: one[0])  # stable: equal times in order of arrival
        else:
            self.counter = 0
            self.front.insert(0, (now, packet))
        return "queued"

    def time_to_send(self, now: int, size: int) -> int:
        delay = self.latency
        if self.jitter:
            delay += self.delay_cor.next(self.stream) % (2 * self.jitter) - self.jitter
        if not self.rate:
            return now + delay
        times = [time for time, _ in self.waiting] + [time for time, _ in self.front[-1:]]
        if times:
            last = max(times)
            delay = max(0, delay - (last - now))
            now = last
        return now + delay + size * 1_000_000_000 // self.rate

    def dequeue(self, now: int) -> int | None:
        if self.front:
            return self.front.pop(0)[1]
        return self.waiting.pop(0)[1] if self.waiting and self.waiting[0][0] <= now else None


@pytest.mark.parametrize("seed", [1, 77, 12345678901])
@pytest.mark.parametrize(
    ("line", "model"),
    [
        ("delay 7ms 3ms loss 3%", {"latency": 7_000_000, "jitter": 3_000_000, "loss": 3}),
        (
            "delay 7001us 2999us 33% loss 13% 25%",
            {"latency": 7_001_000, "jitter": 2_999_000, "loss": 13, "correlations": (33, 25, 0)},
        ),
        (
            "delay 5ms 5ms reorder 40% 70% gap 4 loss 0.7% limit 50",
            {
                "latency": 5_000_000,
                "jitter": 5_000_000,
                "loss": 0.7,
                "reorder": 40,
                "gap": 4,
                "correlations": (0, 0, 70),
                "limit": 50,
            },
        ),
        (
            "delay 3ms 1ms 1% rate 7777777bit reorder 9% loss 0.3%",
            {
                "latency": 3_000_000,
                "jitter": 1_000_000,
                "loss": 0.3,
                "reorder": 9,
                "gap": 1,
                "rate": 972_222,
                "correlations": (1, 0, 0),
            },
        ),
    ],
)
def test_verdicts_and_times_equal_the_second_implementation(line: str, model: dict[str, object], seed: int) -> None:
    queue = sj.Queue(f"netem {line}", limit="100000 packets", seed=seed)
    netem = Netem(Stream(seed), **model)  # type: ignore[arg-type]
    arrivals = random.Random(seed)
    now, left = 0, 0
    for packet in range(3000):
        now += int(arrivals.expovariate(1 / 700_000))
        size = arrivals.choice([40, 576, 1499, 1500])
        assert queue.push(now, size=size, tag=packet) == netem.enqueue(now, packet, size), packet
        while (expected := netem.dequeue(now)) is not None:
            popped = queue.pop(now)
            assert popped is not None and popped.tag == expected
            left += 1
        assert queue.pop(now) is None
        assert queue.not_before() == (netem.waiting[0][0] if netem.waiting else None)
    assert left > 2000


def test_a_queue_by_itself_has_no_duplicates() -> None:
    with pytest.raises(InputError, match="a standalone queue cannot duplicate packets; leave duplicate of netem out"):
        sj.Queue("netem duplicate 1%")


def test_parameters_are_tcs() -> None:
    netem = sj.Netem(delay="20 ms", jitter="5 ms", distribution="normal", loss=0.1)
    assert str(netem) == "netem delay 20ms jitter 5ms distribution normal loss 0.1"


def tabled(folder: Path, table: str = "-8192 0 8192\n") -> sj.Scenario:
    folder.mkdir(exist_ok=True)
    (folder / "bell.dist").write_text(table)
    (folder / "tabled.toml").write_text(TABLED)
    return sj.Scenario.load(folder / "tabled.toml")


def test_a_table_of_a_file_decides_and_is_part_of_the_identity(tmp_path: Path) -> None:
    one, same, other = (tabled(tmp_path / name, text) for name, text in (("a", "0\n"), ("b", "0\n"), ("c", "1 -9\n")))
    assert one.traces() == 3 * [tmp_path / "a/bell.dist"]
    assert run_hash(one, 1) == run_hash(same, 1) != run_hash(other, 1)
    alone = [scenario.replace({"link.aqm": "codel", "reverse.aqm": "codel"}) for scenario in (one, other)]
    assert run_hash(alone[0], 1) != run_hash(alone[1], 1), "a table in a change counts as well"
    # A table of zeros gives the mean.
    plain = {"changes": "", "reverse.aqm": "codel"}
    even = one.replace({**plain, "link.aqm": "netem delay 20ms"}).run().fingerprint
    assert one.replace(plain).run().fingerprint == even != other.replace(plain).run().fingerprint


def test_a_stored_result_is_read_without_its_tables(tmp_path: Path) -> None:
    scenario = tabled(tmp_path / "a")
    result = store.run(scenario, 1, tmp_path / "out", [])
    shutil.rmtree(tmp_path / "a")
    assert result.folder is not None
    again = sj.load(result.folder)
    assert again.scenario.aqm.endswith(f"distribution {tmp_path}/a/bell.dist")
    assert again.aqm_parameters["link.aqm.distribution"] == f"{tmp_path}/a/bell.dist"


def test_an_invalid_table_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"tabled.toml: link.aqm: distribution: .*bell.dist: line 2: \"x\" is not a whole"
    ):
        tabled(tmp_path / "a", "1\nx")
    with pytest.raises(
        InputError, match=r"not one of uniform, normal, pareto, paretonormal, and ./nothing: No such file"
    ):
        sj.Netem(delay="9 ms", jitter="1 ms", distribution="nothing")
