"""Short samples of two long-running commands: disturbed shells, and the simulator compared with real programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shells import needs_shells
from sojourn.engines.emulated import compare, torture

pytestmark = needs_shells

HERE = ["kill -9 of the shell", "full disk", "stopped", "steps of the wall clock"]


def test_disturbed_shells_report_it_and_leave_nothing() -> None:
    only = [word for name in HERE for word in ("--only", name)]
    command = [sys.executable, "-m", "sojourn.engines.emulated.torture", "--time", "0", "--seed", "77", *only]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "4 runs with seed 77, 0 of them wrong"


def test_leftovers_of_a_run_are_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "sojourn").mkdir()
    (tmp_path / "sojourn" / "4711").touch()
    environment = {**os.environ, torture.MARK: "a-run"}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=environment) as process:
        leftovers = list(torture._leftovers("a-run"))
        assert f"process {process.pid}" in leftovers
        assert f"socket {tmp_path}/sojourn/4711" in leftovers
        assert f"process {process.pid}" not in list(torture._leftovers("another-run"))
        process.kill()
    with pytest.raises(torture.Violation, match="does not report 'read late'"):
        torture._expect_output("link: shell  1.0 s", "read late")


def test_costs_of_two_builds_are_measured_alternately() -> None:
    words = ["--runs", "2", "--seconds", "0.3", "--only", "link 100", "--only", "requests", "--old", sys.executable]
    command = [sys.executable, "-m", "sojourn.engines.emulated.costs", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    head, _, link, requests, foot = done.stdout.splitlines()
    assert head.count("|") == 8
    for build in (slice(2, 5), slice(5, 8)):
        gbps, cost, faithful = (cell.split() for cell in link.split("|")[build])
        # At most the link's rate, and more than zero.
        assert 0 < float(gbps[0]) <= 0.1
        assert float(cost[0]) > 0
        assert int(faithful[0]) <= int(faithful[2]) == 2
        answered = requests.split("|")[build][0].split()
        assert float(answered[0]) >= 40, "20 ms each way"
    assert "load average" in foot


def test_a_case_beside_the_simulator_and_one_that_is_far_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(compare.CASES) == len({case.name for case in compare.CASES}) == 20
    [case] = compare.select(("codel, 2 Mbit/s",))
    cells, _ = compare.row(case, 1, 7)
    assert len(cells) == 7
    assert float(cells[1]) > 1
    monkeypatch.setattr(compare, "SEEDS", 5)
    sojourns = iter([*(compare.Medians(ms, 9.0) for ms in (10.0, 2.0, 30.0, 9.0, 10.5)), compare.Medians(11.2, 9.0)])
    monkeypatch.setattr(compare, "medians", lambda _: next(sojourns))
    monkeypatch.setattr(compare.engine, "run", lambda *_: _Faithful())
    assert compare.row(case, 1, 7) == ([case.name, "10.00", "9.00", "11.20", "9.00", "12.0", "1 of 1"], False)


class _Faithful:
    def __init__(self) -> None:
        self.totals: dict[str, dict[str, list[str]]] = {"emulation": {"faults": []}}
