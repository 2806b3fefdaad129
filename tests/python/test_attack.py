"""A sample of `make attack`: mutated inputs and kills, and the detection of planted faults."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from attack import frames, inputs, kills, pages
from attack.cases import FAMILIES, Case, case
from attack.invariants import fingerprints, violations
from attack.judge import judge
from attack.nested import PAIRS, nested

from shells import missing
from sojourn.apps.lab.server import Handler

INPUTS, KILLS = 400, 4


@pytest.fixture(scope="module")
def found() -> inputs.Found:
    return inputs.attack(INPUTS, seed=7, jobs=2)


def test_nothing_comes_of_mutated_inputs_but_lines(found: inputs.Found) -> None:
    assert not found.faults
    assert len(found.outcomes) == INPUTS
    assert {one["family"] for one in found.outcomes} == set(FAMILIES)


def test_a_fifth_of_them_runs(found: inputs.Found) -> None:
    assert found.ran >= INPUTS / 5
    refused = sum(one["code"] == 2 for one in found.outcomes)
    assert refused >= INPUTS / 5, "mutation that refuses nothing finds nothing"


def test_a_case_is_the_same_everywhere(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"summary": {"goodput_bps": 3}}')
    (tmp_path / "x.parquet").write_text("")
    cases = [case(3, number, tmp_path) for number in range(60)]
    assert cases == [case(3, number, tmp_path) for number in range(60)]
    assert [one.words for one in cases] != [case(4, number, tmp_path).words for number in range(60)]


def test_killed_runs_go_on_to_the_same_bytes() -> None:
    killed = kills.attack(KILLS, seed=7)
    assert killed.faults == []
    assert killed.count == KILLS


class StubResult:
    """Stub of click's result."""

    def __init__(
        self, code: int = 0, stdout: str = "", stderr: str = "", exception: BaseException | None = None
    ) -> None:
        self.exit_code, self.stdout, self.stderr, self.output = code, stdout, stderr, stdout + stderr
        self.exception, self.exc_info = exception, None


@pytest.mark.parametrize(
    ("ended", "words", "fault"),
    [
        (StubResult(1, exception=ZeroDivisionError()), ["run"], "traceback: ZeroDivisionError"),
        (StubResult(2, stderr="Traceback (most recent call last):"), ["run"], "traceback in what is printed"),
        (StubResult(1, stderr="Error: x"), ["run"], "exit code 1"),
        (StubResult(2), ["run"], "refused without a word"),
        (StubResult(0, stdout="\x1b[31m"), ["run"], "a control character reaches the terminal"),
        (StubResult(0, stdout="{"), ["run", "--json"], "--json is no JSON"),
        (StubResult(0), ["run"], None),
        (StubResult(1), ["aqm", "diff", "codel", "pie"], None),
        (StubResult(1), ["sweep", "s.toml", "--until", "5%"], None),
    ],
)
def test_the_judge_sees_faults(tmp_path: Path, ended: Any, words: list[str], fault: str | None) -> None:
    faults = judge(Case(0, "", words, {}, False), ended, tmp_path)
    assert faults[0].startswith(fault) if fault else faults == []


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (b"policy:secret: root:a-secret-that-no-answer-has", "shows a file"),
        (b"/tmp/sojourn-lab-x1/t.down: no", "shows a file or a folder"),
        (b"one\ntwo", "more than one line"),
        (b"link.rate: no", None),
    ],
)
def test_responses_that_leak_data_are_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, fault: str | None
) -> None:
    def refuse(_self: object, _request: bytes) -> tuple[str, bytes, int]:
        return "text/plain", answer, 400

    monkeypatch.setattr(Handler, "_run", refuse)
    monkeypatch.chdir(tmp_path)
    Path(pages.FILE).write_text("{}")
    ended = pages.run(["lab", pages.FILE])
    faults = judge(Case(0, "lab requests", ["lab"], {}, False), ended, tmp_path)  # type: ignore[arg-type]
    assert (fault in faults[0]) if fault else faults == []


def test_a_server_that_dies_of_a_request_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(self: Any, _request: bytes) -> None:
        self.server.socket.close()
        raise SystemExit

    monkeypatch.setattr(Handler, "_run", end)
    monkeypatch.setattr("threading.excepthook", lambda _about: None)
    monkeypatch.chdir(tmp_path)
    Path(pages.FILE).write_text("{}")
    with contextlib.suppress(ValueError, OSError):
        assert "the server does not go on" in str(pages.run(["lab", pages.FILE]).exception)


@pytest.mark.skipif(bool(missing()) or os.geteuid() != 0, reason="no shells at interfaces")
@pytest.mark.parametrize(("ends", "code"), [("", 0), ("import os; os._exit(7)", 7)])
def test_a_shell_that_dies_of_frames_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str, code: int
) -> None:
    """Frames with zero to five bytes after their headers; then the same with a shell that ends."""
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nif 'link' in sys.orig_argv:\n    {ends or 'pass'}\n")
    paths = [str(tmp_path), str(Path(__file__).parents[1])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.chdir(tmp_path)
    data = [frames.MARK[:14] + bytes(range(size)) for size in range(6)]
    Path(frames.FILE).write_bytes(b"".join(len(one).to_bytes(4, "big") + one for one in data))
    ended = frames.run(["link", "--attach", "a0", "--rate", "1gbit", "--log", "log", "--quiet"])
    assert ended.exit_code == code, ended.stderr
    assert Path("log/manifest.json").is_file() == (code == 0), "packets of no byte are records of a log, too"


def test_frames_that_pass_no_more_are_seen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    if missing() or os.geteuid() != 0:
        pytest.skip("no shells at interfaces")
    code = "import attack.frames as a; a.PATIENCE_S = 0.3; a.MARK = b'x' * 14 + b'short'; open(a.FILE, 'wb').close()"
    code += "; import socket; socket.socket.send = lambda *_: 0; raise SystemExit(a.main())"
    network = "ip link add a0 type veth peer name b0 && ip link set a0 up && ip link set b0 up"
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    command = [
        "unshare",
        "-n",
        "sh",
        "-c",
        f'{network}; cd "$(mktemp -d)"; exec "$@"',
        "sh",
        sys.executable,
        "-c",
        code,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (9, "a whole frame does not pass any more\n")


def test_the_judge_sees_half_written_files(tmp_path: Path) -> None:
    (tmp_path / "out" / "0123").mkdir(parents=True)
    (tmp_path / ".x.png.host.1.part").write_text("")
    faults = judge(Case(0, "", ["run"], {}, False), StubResult(), tmp_path)  # type: ignore[arg-type]
    assert sorted(faults) == ["half a result: " + str(tmp_path / "out" / "0123"), "half-written: .x.png.host.1.part"]


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A result with dropped and with queued packets."""
    text = """
duration = "310 ms"
seed = 91
link = { rate = "1.7 Mbit/s", limit = "7 packets" }
flows = [{ kind = "cbr", rate = "2.9 Mbit/s", size = "611 B" }]
probes.packets = true
"""
    (tmp_path / "s.toml").write_text(text)
    subprocess.run(
        [sys.executable, "-m", "sojourn", "run", "s.toml", "-o", "out"], cwd=tmp_path, check=True, capture_output=True
    )
    return tmp_path / "out"


def test_possible_results_have_no_faults(stored: Path) -> None:
    assert list(violations(stored)) == []
    [(name, fingerprint)] = fingerprints(stored).items()
    assert json.loads((stored / name / "manifest.json").read_text())["fingerprint"] == fingerprint


@pytest.mark.parametrize(
    ("keys", "value", "fault"),
    [
        (("links", "forward", "utilisation"), 1.0003, "summary.links.forward.utilisation: 1.0003"),
        (("links", "forward", "drop_rate"), -0.01, "summary.links.forward.drop_rate: -0.01"),
        (("groups", 0, "loss_rate"), 1.01, "summary.groups[0].groups.loss_rate: 1.01"),
        (("jain",), 1.5, "summary.jain: 1.5"),
        (("goodput_bps",), float("nan"), "summary.goodput_bps: nan"),
        (("links", "forward", "sojourn_ms", "max"), 311.0, "summary.links.forward.sojourn_ms: longer than the run"),
        (("links", "forward", "dropped"), 3, "summary.links.forward: 3 dropped, by reason"),
        (("flows", 0, "retransmissions"), 10**6, "summary.flows[0].flows: 1000000 retransmissions of"),
    ],
)
def test_impossible_numbers_are_seen(stored: Path, keys: tuple[Any, ...], value: float, fault: str) -> None:
    [manifest] = stored.glob("*/manifest.json")
    found = json.loads(manifest.read_text())
    *path, last = keys
    holder = found["summary"]
    for key in path:
        holder = holder[key]
    holder[last] = value
    manifest.write_text(json.dumps(found))
    reported = list(violations(stored))
    assert reported[0].startswith(fault)


def test_packets_from_nowhere_or_without_a_trace_are_seen(stored: Path) -> None:
    [packets] = stored.glob("*/packets.parquet")
    whole = pl.read_parquet(packets)
    name, count = packets.parent.name, whole.filter(pl.col("link") == 0).height
    waiting = pl.read_parquet(packets.parent / "waiting.parquet").height
    assert waiting > 0
    whole.filter(pl.col("arrival") != 5).write_parquet(packets)
    arrived = count + waiting
    assert list(violations(stored)) == [
        f"{name}: link 0: {arrived} packets arrived, {arrived - 1} ended or wait, {arrived - 1} distinct"
    ]
    whole.vstack(whole[4:5]).write_parquet(packets)
    assert list(violations(stored)) == [
        f"{name}: link 0: {arrived} packets arrived, {arrived + 1} ended or wait, {arrived} distinct"
    ]
    late = pl.when(pl.col("arrival") == 5).then(pl.col("time_ns") + 1).otherwise(pl.col("sojourn_ns"))
    whole.with_columns(sojourn_ns=late).write_parquet(packets)
    assert list(violations(stored)) == [f"{name}: 1 packets waited since before the run"]


@pytest.mark.parametrize("depth", [1, 7, 64])
def test_nested_texts_are_as_deep_as_they_say(depth: int) -> None:
    text = nested(random.Random(f"depth {depth}"), depth)
    assert sum(text.count(begin) for begin in {begin.split()[0] for begin, _ in PAIRS}) >= depth
    assert text.count("{") == text.count("}") >= depth


def test_aborts_and_hangs_are_seen_and_the_next_case_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that aborts at its second case and hangs at its fourth one."""
    text = """
import json, os, sys, time
for number in range(int(sys.argv[1]), 6):
    print(number, "begin", flush=True)
    if number == 1: os.abort()
    if number == 3: time.sleep(1000)
    outcome = {"number": number, "family": "f", "runs": True, "code": 0, "words": [], "s": 0}
    print(json.dumps(outcome | {"faults": []}), flush=True)
"""
    (tmp_path / "worker.py").write_text(text)
    popen = subprocess.Popen

    def start(words: list[str], **options: Any) -> Any:
        return popen([sys.executable, str(tmp_path / "worker.py"), words[4]], **options)

    monkeypatch.setattr(inputs.subprocess, "Popen", start)
    monkeypatch.setattr(inputs, "HANG_S", 10.0)
    outcomes = list(inputs._batch(1, 0, 6, tmp_path))
    assert [one["number"] for one in outcomes] == list(range(6))
    reported = {one["number"]: one["faults"][0] for one in outcomes if one["faults"]}
    assert reported.keys() == {1, 3}
    assert reported[1].startswith("aborts with -6")
    assert reported[3].startswith("hangs")
