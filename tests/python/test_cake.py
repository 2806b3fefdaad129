"""CAKE in tc's syntax, in scenarios and queues, and its shaper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sojourn as sj

RATE_NS = 1_211_200  # 1514 bytes at 10 Mbit/s, in the kernel's integers


def test_a_shaper_returns_its_next_dequeue() -> None:
    queue = sj.Queue("cake bandwidth 10mbit besteffort", mtu=1514)
    for _ in range(3):
        queue.push(500, 1514)
    assert queue.pop(500) is not None
    assert queue.not_before() is None
    assert queue.pop(600) is None
    assert queue.not_before() == 500 + RATE_NS
    assert queue.pop(500 + RATE_NS) is not None
    assert queue.not_before() is None


def test_packets_are_sorted_by_dscp_and_statistics_are_tcs() -> None:
    queue = sj.Queue("cake bandwidth 50mbit diffserv4 dual-srchost nat", mtu=1514)
    for n, dscp in enumerate((46, 46, 0, 8, 34)):
        assert queue.push(1000 * n, 700 + n, dscp=dscp, hosts=(n, 9)) == "queued"
    statistics = queue.statistics()
    assert statistics is not None
    assert [tin["sent_packets"] for tin in statistics["tins"]] == [1, 1, 1, 2]
    assert statistics["backlog"] == 700 * 5 + 10
    assert sj.Queue("codel").statistics() is None


@pytest.mark.parametrize(
    ("aqm", "expected_text"),
    [
        ("cake diffserv9", 'unknown cake keyword "diffserv9"'),
        ("cake overhead 999", "overhead = 999 is out of range; from -64 to 256"),
        ("cake memlimit 0", "memlimit: 0 leaves no room for a packet"),
    ],
)
def test_words_that_tc_refuses_are_refused(aqm: str, expected_text: str) -> None:
    with pytest.raises(sj.InputError, match=re.escape(expected_text)):
        sj.Queue(aqm)


def test_a_code_point_is_at_most_63() -> None:
    with pytest.raises(sj.InputError, match="dscp: 64 is not a code point"):
        sj.Queue("cake").push(0, 100, dscp=64)


@pytest.mark.parametrize(("words", "limit"), [("besteffort", 7.0), ("diffserv4 ethernet", 7.0 * 1500 / 1538)])
def test_a_shaped_link_carries_the_shapers_rate(scenario_file: Path, words: str, limit: float) -> None:
    changes = {"link.rate": "20 Mbit/s", "link.aqm": f"cake bandwidth 7mbit {words}", "duration": "12 s"}
    result = sj.Scenario.load(scenario_file, changes).run(seed=5)
    assert 0.93 * limit < result.summary["utilisation"][0] * 20.0 < 1.01 * limit
