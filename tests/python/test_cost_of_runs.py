"""Overhead of a run besides its events, in function calls, which do not depend on the machine."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.studies.runs import runner, store
from sojourn.studies.runs.runner import Run, Runner

SHORT = """
duration = "1 s"
warmup = "0 s"
[link]
rate = "1 Mbit/s"
[[flows]]
kind = "tcp"
[sweep]
seeds = 60
"""


def _runs(folder: Path) -> list[Run]:
    (folder / "short.toml").write_text(SHORT)
    return list(sj.Study.load(folder / "short.toml").runs)


def _calls(do: Callable[[], object]) -> int:
    """Function calls in this thread, of Python and built-in functions."""
    profile = cProfile.Profile()
    profile.runcall(do)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def test_a_run_is_stored_by_five_hundred_calls(tmp_path: Path) -> None:
    runs = _runs(tmp_path)
    store.run(runs[0].scenario, runs[0].seed, tmp_path / "out", [])
    calls = _calls(lambda: [store.run(run.scenario, run.seed, tmp_path / "out", []) for run in runs[1:]])
    assert calls / len(runs[1:]) < 600  # 2,350 if files are read back and checked, and all hashes recomputed


def test_unused_tables_are_not_computed(tmp_path: Path) -> None:
    runs = _runs(tmp_path)
    runs[0].scenario.run()
    calls = _calls(lambda: [run.scenario.run(run.seed) for run in runs])
    assert calls / len(runs) < 150  # 340 if the histogram, the only table here, becomes a frame


def test_waiting_for_a_run_takes_few_calls_however_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "LOOK_S", 600.0)  # a single progress update: their number depends on the machine
    runs = _runs(tmp_path)
    calls = _calls(lambda: Runner(jobs=1)(runs))
    assert calls / len(runs) < 150  # in this thread, which distributes the runs and waits
