"""Networks for the tests of transport stacks: events one by one, the loop in virtual time, the marker of pytest."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from sojourn import InputError
from sojourn.net import Net, chosen_seeds, nanoseconds

ROOT = Path(__file__).parents[2]
WORLD = """
duration = "3.7 s"
[link]
rate = "7.3 Mbit/s"
delay = "11.5 ms"
aqm = "fq_codel"
[[flows]]
kind = "endpoint"
name = "call"
rtt = "33.1 ms"
mtu = "1280 B"
oversize = "report"
tags = ["rtp", "rtcp"]
[[flows]]
kind = "tcp"
cc = "cubic"
rtt = "25 ms"
"""


def echo(net: Net, sizes: tuple[int, ...] = (1, 57, 1201, 999, 1252)) -> None:
    """The source sends at an odd interval, and the sink returns what it gets."""
    source, sink = net.pair("call")
    sent = 0
    for event in net:
        if event.kind in ("begin", "wake") and event.end is source:
            net.send(source, bytes(sizes[sent % len(sizes)]), sink.address, ecn=("ect0", "not-ect", "ect1")[sent % 3])
            sent += 1
            net.wake(source, net.now + 1_234_567)
        elif event.kind == "datagram" and event.end is sink:
            assert event.data is not None
            net.send(sink, event.data, event.remote or sink, tag="rtcp")


def test_events_come_one_by_one() -> None:
    net = Net(WORLD, 7)
    source, sink = net.pair("call")
    assert [end.name for end in net.ends] == ["call.source", "call.sink"]
    assert (source.address, sink.address) == (("10.0.0.1", 49152), ("10.0.0.2", 443))
    assert net.address("call.sink") == sink.address
    net.send(source, memoryview(b"odd"), sink, ecn="ect1", tag="rtp")
    net.wake("call.sink", 1_000_003)
    kinds = []
    while (event := net.next()) is not None and event.kind != "datagram":
        kinds.append((net.now, event.kind, event.end.name, event.data))
    assert kinds == [
        (0, "begin", "call.source", None),
        (0, "begin", "call.sink", None),
        (1_000_003, "wake", "call.sink", None),
    ]
    assert event is not None
    assert (event.end, event.data, event.remote, event.local) == (sink, b"odd", source.address, sink.address)
    assert (event.ecn, event.tag, event.mtu) == ("ect1", "rtp", None)
    assert event.end is sink
    assert repr(event) == "<Event datagram call.sink 3 B>"


def test_a_batch_is_one_instant() -> None:
    net = Net(WORLD, 1)
    source, sink = net.pair("call")
    assert [event.kind for event in net.next_batch()] == ["begin", "begin"]
    net.wake(source, 5_000_000)
    net.wake(sink, 5_000_000)
    assert {event.end.name for event in net.next_batch()} == {"call.source", "call.sink"}
    assert net.now == 5_000_000
    while net.next_batch():
        pass
    assert (net.now, net.due()) == (net.duration, None)


def test_following_another_clock_is_the_same_run() -> None:
    pulled, followed = Net(WORLD, 3), Net(WORLD, 3)
    echo(pulled)
    source, sink = followed.pair("call")
    clock, sent = 0, 0
    while followed.due() is not None:
        while (event := followed.advance(clock)) is not None:
            if event.kind in ("begin", "wake") and event.end is source:
                size, ecn = (1, 57, 1201, 999, 1252)[sent % 5], ("ect0", "not-ect", "ect1")[sent % 3]
                followed.send(source, bytes(size), sink.address, ecn=ecn)
                sent += 1
                followed.wake(source, followed.now + 1_234_567)
            elif event.kind == "datagram" and event.end is sink:
                followed.send(sink, event.data or b"", event.remote or sink, tag="rtcp")
        clock += 777_777
    a, b = pulled.finish(), followed.finish()
    assert (a.decisions, a.fingerprint, a.log()) == (b.decisions, b.fingerprint, b.log())
    assert a.datagrams > 4000


@pytest.mark.parametrize("seed", [1, 2, 4_294_967_311])
def test_a_seed_repeats_a_run_in_any_process(seed: int, tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        f"from test_net import *\nnet = Net(WORLD, {seed}); echo(net)\n"
        "r = net.finish(); print(r.decisions, r.fingerprint)"
    )
    outputs = set()
    for number in ("0", "1", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": number}
        command = [sys.executable, "-c", program]
        outputs.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(outputs) == 1
    net = Net(WORLD, seed)
    echo(net)
    report = net.finish()
    assert f"{report.decisions} {report.fingerprint}\n" in outputs


@pytest.mark.parametrize(
    "change",
    [
        {"data": b"12"},
        {"ecn": "ect0"},
        {"at": 1},
        {"tag": "rtp"},
        {"to": ("10.0.0.2", 444)},
        {"local": ("10.0.0.1", 9)},
    ],
)
def test_the_hash_of_decisions_sees_each_change(change: dict[str, object]) -> None:
    def decisions(**given: object) -> tuple[str, int]:
        net = Net(WORLD, 5)
        arguments: dict[str, Any] = {"data": b"1", "to": ("10.0.0.2", 443), **given}
        net.send("call.source", arguments.pop("data"), arguments.pop("to"), **arguments)
        while net.next():
            pass
        report = net.finish()
        return report.decisions, report.datagrams

    assert decisions() == decisions()
    assert decisions(**change)[0] != decisions()[0]
    assert decisions(**change)[1] == 1


def test_reports_judge_and_explain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_NET_OUT", str(tmp_path / "out"))
    net = Net(WORLD, 11, name="odd name")
    net.note("call.source", "cwnd", 17.5)
    echo(net)
    net.completed("call.sink", 1_000_000, 5000)
    report = net.finish()
    assert net.finished
    assert (report.name, report.seed) == ("odd name", 11)
    report.expect("p99(delay, call) <= 900 ms and note(call.source.cwnd) >= 17")
    verdict = report.judge("p99(delay, call) <= 0.1 ms")
    assert not verdict
    assert (verdict.holds, verdict.sentence) == (False, "p99(delay, call) <= 0.1 ms")
    [(text, unit, left, right)] = verdict.sides
    assert (text, unit, right) == ("p99(delay, call) <= 0.1 ms", "ms", 0.1)
    assert left > 16
    with pytest.raises(AssertionError) as caught:
        report.expect("p99(delay, call) <= 0.1 ms")
    message = str(caught.value)
    assert f"seed 11, fingerprint {report.fingerprint}, decisions {report.decisions}" in message
    test = "tests/python/test_net.py::test_reports_judge_and_explain"
    assert re.search(rf"repeat: SOJOURN_SEED=11 python -m pytest \S*{re.escape(test.split('/')[-1])}", message)
    log = tmp_path / "out" / "odd-name-11.decisions"
    assert str(log) in message
    assert log.read_text().startswith("sojourn-decisions 1\n")
    assert len(log.read_text().splitlines()) == 2 + report.datagrams
    assert report.write(tmp_path / "here") == tmp_path / "here" / "odd-name-11.decisions"
    record = json.loads((tmp_path / "here" / "odd-name-11.json").read_text())
    assert record["decisions"] == report.decisions == report.record["decisions"]
    assert report.summary["fingerprint"] == report.fingerprint
    assert "sojourn_histogram" in report.tables()


def test_events_of_size_and_room() -> None:
    net = Net(WORLD.replace("mtu =", 'access_rate = "4.3 Mbit/s"\nsocket_buffer = "9 kB"\nmtu ='), 1)
    source, sink = net.pair("call")
    net.send(source, bytes(1253), sink)
    kinds = set()
    with pytest.raises(BlockingIOError, match=r"call.source: the host accepts no datagram now; wait for room"):
        for _ in range(100):
            net.send(source, bytes(1200), sink)
    assert not net.has_room(source)
    for event in net:
        kinds.add(event.kind)
        if event.kind == "too_big":
            assert (event.mtu, event.remote, event.end) == (1280, sink.address, source)
    assert {"begin", "room", "too_big", "datagram"} <= kinds


def test_a_net_from_a_file_and_without_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dsl.toml").write_text(WORLD)
    monkeypatch.setenv("SOJOURN_SEED", "23")
    logged, plain = Net(tmp_path / "dsl.toml"), Net(str(tmp_path / "dsl.toml"), log=False)
    assert (logged.seed, plain.seed) == (23, 23)
    echo(logged)
    echo(plain)
    a, b = logged.finish(), plain.finish()
    assert (a.name, a.decisions, a.datagrams) == ("dsl", b.decisions, b.datagrams)
    assert len(a.log()) == a.datagrams
    assert b.log() == []


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda net: net.pair("cal"), r'"cal": the world has no such endpoint; choose from call'),
        (lambda net: net.pair("call", 1), r'"call" has 1 pairs of ends, numbered from 0; there is no number 1'),
        (lambda net: net.pair("call", -1), "member: -1 is out of range; from 0 to 4294967295"),
        (lambda net: net.send("call.snk", b"", ("10.0.0.1", 1)), "choose from call.source, call.sink"),
        (lambda net: net.send("call.sink", b"", ("call.source", 1)), "to: .* is not an address; give a host's IP"),
        (lambda net: net.send("call.sink", b"", ("10.0.0.1", 70000)), "to: .* is not an address; give a host's IP"),
        (lambda net: net.send("call.sink", b"", "10.0.0.1:4"), "to: '10.0.0.1:4' is not an address; give a host's IP"),
        (lambda net: net.send("call.sink", b"", ()), r"to: \(\) is not an address"),
        (lambda net: net.send("call.sink", b"", ("::1", 1, 0, 0)), "write both as IPv4 or both as IPv6"),
        (lambda net: net.send("call.sink", b"", ("10.0.0.1", 1), ecn="CE"), 'ecn: "CE" is not an ECN field; write'),
        (lambda net: net.send("call.sink", b"", ("10.0.0.1", 1), tag="x"), '"call" has no tag "x"; add it to the key'),
        (lambda net: net.send("call.sink", bytes(70_000), ("10.0.0.1", 1)), "70000 B; at most 65507 B"),
        (lambda net: net.send("call.sink", bytes(9), ("10.0.0.1", 1), segment_size=0), "9 B in segments of 0 B"),
        (lambda net: net.send("call.sink", bytes(90), ("10.0.0.1", 1), segment_size=1), "at most 64 datagrams"),
        (lambda net: net.send("call.sink", b"", ("10.0.0.1", 1), local=("10.0.0.9", 1)), "send from that one"),
        (lambda net: net.wake("call.sink", -5), "at: -5 is out of range"),
        (lambda net: net.wake("call.sink", 1 << 64), "at: 18446744073709551616 is out of range"),
        (lambda net: (net.advance(9), net.advance(9), net.advance(9), net.advance(8)), "time never goes back"),
        (lambda net: net.note("call.sink", "x", float("nan")), "note: .* give a short name and a finite number"),
        (lambda net: net.note("call.sink", "", 1), "note: .* give a short name and a finite number"),
        (lambda net: (net.finish(), net.next()), "net: it is finished; make another one"),
        (lambda net: (net.finish(), net.finish()), "net: it is finished; make another one"),
        (lambda net: net.finish().expect("p99(dely, call) < 1 ms"), "dely"),
    ],
)
def test_errors_name_the_remedy(call: object, text: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=text):
        call(Net(WORLD, 1))


def test_wrong_worlds(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: No such file or directory; give the path of a readable file"):
        Net(tmp_path / "none.toml")
    with pytest.raises(InputError, match=r'flows: no endpoint among them; add \[\[flows\]\] with kind = "endpoint"'):
        Net('duration = "1 s"\n[link]\nrate = "1 Mbit/s"\n[[flows]]\nkind = "tcp"\n')
    with pytest.raises(InputError, match=r"link.rate"):
        Net(WORLD.replace("7.3 Mbit/s", "7.3"))
    with pytest.raises(TypeError):
        Net(WORLD, 1).send("call.sink", "text", ("10.0.0.1", 1))  # type: ignore[arg-type]


def test_a_deadline_that_never_passes_ends_the_run() -> None:
    net = Net(WORLD, 1)
    with pytest.raises(InputError, match=r"woken 1000000 times at .*; let the deadline pass"):
        for event in net:
            net.wake(event.end, net.now)


def test_ipv6_addresses_have_four_parts() -> None:
    net = Net(WORLD.replace("rtt =", 'address = ["2001:db8::1", "2001:db8::2"]\nrtt =', 1), 1)
    source, sink = net.pair("call")
    assert source.address == ("2001:db8::1", 49152, 0, 0)
    net.send(source, b"x", ("2001:db8::2", 443))
    event = next(event for event in net if event.kind == "datagram")
    assert (event.remote, event.local) == (source.address, sink.address)


@pytest.mark.parametrize("seconds", [0.0, 1e-9, 0.1, 0.3, 1.1, 7.300000001, 19.999999999, 123456.789, 0.1 + 0.2])
def test_deadlines_in_seconds_are_never_early(seconds: float) -> None:
    number = nanoseconds(seconds)
    assert number / 1e9 >= seconds
    assert number == 0 or (number - 1) / 1e9 < seconds
    assert nanoseconds(-seconds) == 0


def test_seeds_are_chosen_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SOJOURN_SEED", "SOJOURN_SEEDS"):
        monkeypatch.delenv(name, raising=False)
    assert chosen_seeds(3) == [1, 2, 3]
    assert chosen_seeds(range(5, 9, 2)) == [5, 7]
    monkeypatch.setenv("SOJOURN_SEEDS", "7-9")
    assert chosen_seeds(3) == [7, 8, 9]
    monkeypatch.setenv("SOJOURN_SEED", "41")
    assert chosen_seeds(3) == [41]
    for wrong in ("x", "-1", "1.5", "٣"):
        monkeypatch.setenv("SOJOURN_SEED", wrong)
        with pytest.raises(InputError, match=r"is no seed; write e.g. 7"):
            chosen_seeds(1)
    monkeypatch.delenv("SOJOURN_SEED")
    for wrong in ("5", "9-7", "1-1000000", "a-b"):
        monkeypatch.setenv("SOJOURN_SEEDS", wrong)
        with pytest.raises(InputError, match=r"is no range of seeds; write e.g. 1-20"):
            chosen_seeds(1)
    monkeypatch.delenv("SOJOURN_SEEDS")
    with pytest.raises(InputError, match="seeds: 0 is no range"):
        chosen_seeds(0)


def test_events_cost_little() -> None:
    """200,000 per CPU second are demanded of a quiet machine; a loaded one gives a third."""
    fast = WORLD.replace("7.3 Mbit/s", "1 Gbit/s")
    net = Net(fast.replace('kind = "tcp"\ncc = "cubic"', 'kind = "cbr"\nrate = "1 kbit/s"'), 1)
    source, sink = net.pair("call")
    for _ in range(50):
        net.send(source, bytes(1200), sink)
    begun, events = time.process_time(), 0
    for event in net:
        events += 1
        if event.data is not None and event.remote is not None:
            net.send(event.end, event.data, event.remote)
    cpu = time.process_time() - begun
    assert events > 5000
    assert events / cpu > 70_000


TESTS = """
import pytest

@pytest.mark.net("world.toml", seeds=3)
def test_good(net):
    assert net.ends[0].name == "call.source"
    net.finish().expect("utilisation >= 0 %")

@pytest.mark.net("world.toml", seeds=[4, 9])
def test_crash(net):
    net.send("call.source", b"x", net.address("call.sink"))
    for event in net:
        if event.kind == "datagram":
            assert net.seed != 9, "as planned"

def test_unmarked(net):
    pass
"""


def pytest_of(folder: Path, *options: str, **environment: str) -> str:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("SOJOURN", "PYTEST"))}
    command = [sys.executable, "-m", "pytest", "-p", "sojourn.pytest_plugin", "--strict-markers", *options]
    ran = subprocess.run(
        command,
        cwd=folder,
        env={**clean, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout + ran.stderr


def test_the_marker_runs_a_test_per_seed(tmp_path: Path) -> None:
    (tmp_path / "world.toml").write_text(WORLD)
    (tmp_path / "test_it.py").write_text(TESTS)
    output = pytest_of(tmp_path, "-v")
    for number in (1, 2, 3):
        assert f"test_it.py::test_good[seed-{number}] PASSED" in output, output
    assert "test_it.py::test_crash[seed-4] PASSED" in output
    assert "test_it.py::test_crash[seed-9] FAILED" in output
    assert "decision log: .pytest_cache/sojourn-net/test_crash-9.decisions; without the programs: sojourn net" in output
    assert "repeat: SOJOURN_SEED=9 python -m pytest 'test_it.py::test_crash[seed-9]'" in output
    assert (tmp_path / ".pytest_cache" / "sojourn-net" / "test_crash-9.decisions").is_file()
    assert 'net: no world; mark the test: @pytest.mark.net("world.toml", seeds=20)' in output
    assert "1 failed, 4 passed, 1 error" in output
    repeated = pytest_of(tmp_path, "test_it.py::test_crash[seed-9]", SOJOURN_SEED="9")
    assert "1 failed" in repeated
    assert "2 passed" in pytest_of(tmp_path, "-k", "good", SOJOURN_SEEDS="30-31")


def test_the_plugin_costs_other_sessions_nothing() -> None:
    program = "import sys, sojourn.pytest_plugin; print(*[m for m in ('sojourn._core', 'asyncio') if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "sojourn._core" not in loaded


NEEDS_AIOQUIC = "needs aioquic: pip install -r examples/net/aioquic/requirements.txt"


@pytest.mark.skipif(find_spec("aioquic") is None, reason=NEEDS_AIOQUIC)
@pytest.mark.parametrize("script", ["sans_io.py", "transfer.py"])
def test_aioquic_decides_alike_in_each_process(script: str) -> None:
    outputs = set()
    for number in ("1", "2"):
        command = [sys.executable, str(ROOT / "examples" / "net" / "aioquic" / script)]
        environment = {**os.environ, "PYTHONHASHSEED": number}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        outputs.add(ran.stdout.splitlines()[0])
    assert len(outputs) == 1
