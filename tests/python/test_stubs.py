"""The stubs of the queue managers, for editors and type checkers, match the registry."""

from __future__ import annotations

import inspect
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.model.aqms.registry import class_names

GENERATOR = runpy.run_path(str(Path(__file__).parents[2] / "python" / "stubs.py"))


def test_the_stub_equals_the_generator_s_output() -> None:
    assert GENERATOR["TARGET"].read_text(encoding="utf-8") == GENERATOR["stub"](), "run: make stubs"


WITHOUT_OTHERS = """[mypy]
[mypy-click.*,matplotlib.*,numpy.*,polars.*,rich.*]
follow_imports = skip
follow_imports_for_stubs = true
"""
"""Configuration of mypy: types of other packages take three quarters of its time and say nothing about our stubs."""


def checked(tool: list[str], folder: Path) -> str:
    (folder / "mypy.ini").write_text(WITHOUT_OTHERS)
    ran = subprocess.run([sys.executable, "-m", *tool], cwd=folder, capture_output=True, text=True, check=False)
    return ran.stdout + ran.stderr


def test_stubs_match_the_run_time(tmp_path: Path) -> None:
    reported = checked(
        ["mypy.stubtest", "--mypy-config-file", "mypy.ini", "sojourn.model.aqms.managers", "sojourn._core"], tmp_path
    )
    assert "Success: no issues found in 2 modules" in reported, reported


def test_mypy_finds_errors_in_a_queue_manager(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(
        "import sojourn as sj\n"
        "good = [sj.Codel('act', target='5 ms', ecn=True), sj.FqCodel(flows=16, raise_=False, exclude_ce=True)]\n"
        "sj.Codel(tagret='5 ms')\n"
        "sj.Codel(target=5)\n"
        "sj.Codel(hard_limit='print')\n"
        "sj.Pie('draft01')\n"
        "sj.Dualpi2(exclude_ce=True)\n"
        "sj.Kodel()\n"
    )
    reported = checked(["mypy", "--strict", "use.py"], tmp_path)
    assert 'use.py:3: error: Unexpected keyword argument "tagret" for "Codel"; did you mean "target"?' in reported
    for line in (4, 5, 6, 7):
        assert f"use.py:{line}: error: " in reported
    assert "use.py:2" not in reported


def test_help_and_completion_know_the_parameters() -> None:
    for name in class_names():
        cls = getattr(sj, name)
        taken = inspect.signature(cls).parameters
        assert list(inspect.signature(cls.__init__).parameters)[1:] == list(taken)
        plain = cls()
        given = {key: one.default for key, one in taken.items() if key != "profile"}
        assert cls(**given) == plain, f"{name}: the defaults shown are those of the plain profile"
    assert inspect.signature(sj.Codel).parameters["target"].default == "5 ms"
    assert str(sj.Fq(raise_=False, exclude_ce=True)) == "fq(droptail) noraise exclude_ce"
    with pytest.raises(sj.InputError, match='"tagret" is unknown; did you mean "target"'):
        sj.Codel(tagret="5 ms")
