"""The exercises: solutions reach all goals, initial and wrong solutions miss one, and only free keys may be changed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sojourn import InputError, Scenario
from sojourn.apps.labs.exercise import exercise, exercises
from sojourn.apps.labs.grade import Grade, grade

SOLUTIONS = {
    1: ("red min 15kB max 45kB", "red min 30kB max 90kB"),
    2: ("ared target 25ms", "red min 15kB max 45kB"),
    3: ("codel target 30ms interval 600ms", "codel target 80ms interval 600ms"),
    4: ("pie activation always", "pie target 5ms"),
    5: ("fq_codel", "prio { band 1 match dscp EF; band 2 { codel } }"),
    6: ("cake bandwidth 9500kbit", "cake bandwidth 9mbit flowblind"),
}
"""A model solution and a wrong one for each exercise."""


def graded(number: int, aqm: str | None = None) -> list[Grade]:
    about = exercise(number)
    return grade(about, Scenario.parse(about.start, {"link.aqm": aqm} if aqm else None))


def test_every_exercise_is_solved_here_and_has_a_page() -> None:
    pages = {path.stem for path in (Path(__file__).parents[2] / "docs" / "labs").glob("[0-9]*.md")}
    assert SOLUTIONS.keys() == exercises().keys()
    assert pages == {path.stem for path in exercises().values()}


@pytest.mark.parametrize("number", SOLUTIONS)
def test_the_model_solution_reaches_every_goal(number: int) -> None:
    missed = [one.line for one in graded(number, SOLUTIONS[number][0]) if not one.is_reached]
    assert not missed


@pytest.mark.parametrize("number", SOLUTIONS)
def test_the_start_and_the_wrong_solution_miss_a_goal(number: int) -> None:
    for aqm in (None, SOLUTIONS[number][1]):
        grades = graded(number, aqm)
        assert not all(one.is_reached for one in grades), [one.line for one in grades]


def labs(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sojourn.apps.labs", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_the_grader_prints_a_line_for_each_goal_and_exits_with_the_verdict(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    assert labs("4", "--start", str(file)).returncode == 0
    missed = labs("4", str(file))
    assert missed.returncode == 1 and missed.stdout.startswith("missed   p95(sojourn) < 60 ms: ")
    file.write_text(file.read_text(encoding="utf-8").replace('"pie"', '"pie activation always"'), encoding="utf-8")
    reached = labs("4", str(file))
    assert reached.returncode == 0 and not reached.stderr
    assert [line.split()[0] for line in reached.stdout.splitlines()] == ["reached", "reached"]
    assert labs("4", "--start", str(file)).returncode == 2  # the student's file exists


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"flows.0.count": 1}, "flows.0.count differs from the exercise; change only link.aqm"),
        ({"link.limit": "20 packets"}, "link.limit differs from the exercise"),
        ({"probes.queue": "10 ms", "duration": "26 s"}, "duration differs from the exercise"),
        ({"link.aqm": "codel"}, "link.aqm: codel is not for this exercise; use pie"),
    ],
)
def test_fixed_keys_are_named(changed: dict[str, object], message: str, tmp_path: Path) -> None:
    about, file = exercise(4), tmp_path / "mine.toml"
    file.write_text(Scenario.parse(about.start, changed).canonical, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        about.accepted(file)


def test_an_unknown_exercise_and_a_missing_file_are_one_line(tmp_path: Path) -> None:
    for arguments in (["7"], ["1", str(tmp_path / "none.toml")]):
        ran = labs(*arguments)
        assert ran.returncode in {2, 3} and ran.stderr.startswith("Error: ") and ran.stderr.count("\n") == 1
