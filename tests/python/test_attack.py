"""A sample of the attack of `make soak`: mutated inputs and kills, and the judge of both against planted faults."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from attack import inputs, kills
from attack.cases import FAMILIES, Case, case
from attack.judge import judge

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
    (tmp_path / "manifest.json").write_text("{}")
    (tmp_path / "x.parquet").write_text("")
    cases = [case(3, number, tmp_path) for number in range(60)]
    assert cases == [case(3, number, tmp_path) for number in range(60)]
    assert [one.words for one in cases] != [case(4, number, tmp_path).words for number in range(60)]


def test_killed_runs_go_on_to_the_same_bytes() -> None:
    killed = kills.attack(KILLS, seed=7)
    assert killed.faults == []
    assert killed.count == KILLS


class Ended:
    """What click's runner says of a command."""

    def __init__(
        self, code: int = 0, stdout: str = "", stderr: str = "", exception: BaseException | None = None
    ) -> None:
        self.exit_code, self.stdout, self.stderr, self.output = code, stdout, stderr, stdout + stderr
        self.exception, self.exc_info = exception, None


@pytest.mark.parametrize(
    ("ended", "words", "fault"),
    [
        (Ended(1, exception=ZeroDivisionError()), ["run"], "traceback: ZeroDivisionError"),
        (Ended(2, stderr="Traceback (most recent call last):"), ["run"], "traceback in what is printed"),
        (Ended(1, stderr="Error: x"), ["run"], "exit code 1"),
        (Ended(2), ["run"], "refused without a word"),
        (Ended(0, stdout="\x1b[31m"), ["run"], "a control character reaches the terminal"),
        (Ended(0, stdout="{"), ["run", "--json"], "--json is no JSON"),
        (Ended(0), ["run"], None),
        (Ended(1), ["aqm", "diff", "codel", "pie"], None),
        (Ended(1), ["sweep", "s.toml", "--until", "5%"], None),
    ],
)
def test_the_judge_sees_faults(tmp_path: Path, ended: Any, words: list[str], fault: str | None) -> None:
    faults = judge(Case(0, "", words, {}, False), ended, tmp_path)
    assert faults[0].startswith(fault) if fault else faults == []


def test_the_judge_sees_half_written_files(tmp_path: Path) -> None:
    (tmp_path / "out" / "0123").mkdir(parents=True)
    (tmp_path / ".x.png.host.1.part").write_text("")
    faults = judge(Case(0, "", ["run"], {}, False), Ended(), tmp_path)  # type: ignore[arg-type]
    assert sorted(faults) == ["half a result: " + str(tmp_path / "out" / "0123"), "half-written: .x.png.host.1.part"]


def test_aborts_and_hangs_are_seen_and_the_next_case_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that aborts at its second case and hangs at its fourth."""
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
    told = {one["number"]: one["faults"][0] for one in outcomes if one["faults"]}
    assert told.keys() == {1, 3}
    assert told[1].startswith("aborts with -6")
    assert told[3].startswith("hangs")
