"""Decision logs sent again without the programs that wrote them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Cli
from sojourn import _core

WORLD = """
duration = "4 s"
[link]
rate = "3.3 Mbit/s"
delay = "9 ms"
aqm = "fq_codel"
[[flows]]
kind = "endpoint"
name = "call"
rtt = "31 ms"
tags = ["rtp"]
events = [{ at = "1.7 s", rebind = "port" }]
[[flows]]
kind = "tcp"
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Log of a sender of odd datagrams beside TCP."""
    net = _core.Net(WORLD, 5)
    source, sink = net.pair("call")
    net.wake(source, 0)
    number = 0
    while (event := net.next()) is not None:
        if event.kind == "wake":
            size = 200 + 37 * number % 1_111
            net.send(source, bytes(size), net.address(sink), ecn="ect1" if number % 3 else "not-ect", tag="rtp")
            number += 1
            net.wake(source, net.now + 3_333_333)
    return Path(net.finish().write(tmp_path_factory.mktemp("logs")))


def test_the_queues_meet_the_same_packets(log: Path, cli: Cli) -> None:
    done = cli("net", "replay", log, "--expect", "loss(call.rtp) < 50 % and p99(delay, call) > 9 ms")
    assert done.exit_code == 0, done.stdout + done.stderr
    assert "as recorded" in done.stdout
    assert "true: loss(call.rtp)" in done.stdout
    found = json.loads(cli("net", "replay", log, "--json").stdout)
    assert found["fingerprint"] == found["expected_fingerprint"]
    assert found["summary"]["groups"][0]["endpoint"]["source"]["tags"]["rtp"]["sent"] > 1_000


def test_another_world_or_a_false_sentence_is_told(log: Path, tmp_path: Path, cli: Cli) -> None:
    assert cli("net", "replay", log, "--expect", "p99(delay, call) < 1 ms").exit_code == 1
    other = tmp_path / "other.decisions"
    lines = log.read_text("utf-8").splitlines()
    other.write_text("\n".join(lines[:40] + lines[60:]) + "\n", "utf-8")
    done = cli("net", "replay", other)
    assert done.exit_code == 1
    assert "was recorded" in done.stdout


def test_a_log_of_another_form_is_refused(log: Path, tmp_path: Path, cli: Cli) -> None:
    wrong = tmp_path / "wrong.decisions"
    wrong.write_text(log.read_text("utf-8").replace(" ect1 ", " ect7 ", 1), "utf-8")
    done = cli("net", "replay", wrong)
    assert done.exit_code == 2
    assert '"ect7" is not an ECN field' in done.stderr
    assert cli("net", "replay", tmp_path / "absent.decisions").exit_code == 2
