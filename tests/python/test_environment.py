"""Full disk, missing write permission and Ctrl-C: the exit code is right, and no file is half-written."""

from __future__ import annotations

import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import REPO, Process, entries

FULL = Path("/dev/full")
needs_dev_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


@needs_dev_full
@pytest.mark.parametrize("args", [["aqm", "list"], ["aqm", "list", "--json"], ["--help"], ["scenario", "schema"]])
def test_full_standard_output(process: Process, args: list[str]) -> None:
    with FULL.open("w") as full:
        done = process(*args, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 3
    assert "No space left on device; free some space" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@needs_dev_full
@pytest.mark.parametrize("through_link", [False, True])
def test_figure_on_a_full_device(process: Process, scenario_file: Path, tmp_path: Path, through_link: bool) -> None:
    assert process("run", scenario_file).returncode == 0
    target = FULL
    if through_link:
        target = tmp_path / "figure.png"
        target.symlink_to(FULL)
    done = process("plot", "cdf", "results", "-o", target)
    assert done.returncode == 3
    assert f"Error: {target}: No space left on device" in done.stderr


@needs_dev_full
@pytest.mark.parametrize("place", ["/dev/full", "/dev/full/x", "/proc/sojourn"])
def test_results_cannot_be_there(process: Process, scenario_file: Path, place: str) -> None:
    done = process("run", scenario_file, "-o", place)
    assert done.returncode == 3
    assert place in done.stderr
    assert "-o" in done.stderr
    assert done.stdout == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_folder_without_permission(process: Process, scenario_file: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    done = process("run", scenario_file, "-o", locked / "out")
    assert done.returncode == 3
    assert "Permission denied" in done.stderr


LIMITED = {
    "run": (["run", REPO / "scenarios" / "codel.toml"], 40_000),
    "sweep": (["sweep", REPO / "scenarios" / "loads.toml"], 1_000),
    "compare": (["compare", "--aqm", "codel,pie", "--duration", "20s"], 20_000),
}


@pytest.mark.parametrize("case", LIMITED)
def test_file_size_limit(process: Process, tmp_path: Path, case: str) -> None:
    args, limit = LIMITED[case]
    done = process(*args, preexec_fn=_limit_files(limit))
    assert done.returncode == 3, done.stderr
    assert "File too large; raise the limit on file sizes" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("*.part"))
    assert all((folder / "manifest.json").exists() for folder in _runs(tmp_path / "results"))


def test_file_size_limit_on_a_figure(process: Process, scenario_file: Path, tmp_path: Path) -> None:
    assert process("run", scenario_file).returncode == 0
    before = entries(tmp_path)
    done = process("plot", "cdf", "results", "-o", "x.png", preexec_fn=_limit_files(1_000))
    assert done.returncode == 3
    assert "x.png: File too large" in done.stderr
    assert entries(tmp_path) == before


@pytest.mark.parametrize("wait_s", [0.15, 0.4, 0.8])
def test_ctrl_c(tmp_path: Path, wait_s: float) -> None:
    args = ["run", REPO / "scenarios" / "codel.toml", "--set", "duration=100000 s", "--set", "probes.packets=false"]
    code, stderr, took_s = _interrupt(args, tmp_path, wait_s)
    assert code == 130
    assert "Traceback" not in stderr
    assert entries(tmp_path) == set()
    assert took_s < 2.0  # 0.03 s on an idle machine; the bound only detects waiting for the end of the run


def test_ctrl_c_during_a_replay(tmp_path: Path) -> None:
    code, stderr, took_s = _interrupt(["aqm", "diff", "codel", "pie", "--packets", "4000000"], tmp_path, 0.8)
    assert code == 130
    assert "Traceback" not in stderr
    assert took_s < 4.0  # the arrivals are computed in one step of about a second


def test_ctrl_c_keeps_finished_runs_whole(tmp_path: Path) -> None:
    generator = random.Random(1)
    for attempt in range(5):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        wait_s = generator.uniform(0.3, 0.8)
        code, stderr, _ = _interrupt(["sweep", REPO / "scenarios" / "loads.toml", "--jobs", "2"], folder, wait_s)
        assert code in (130, 0)  # a fast machine may have finished
        assert "Traceback" not in stderr
        assert not list(folder.rglob("*.part"))
        assert all((run / "manifest.json").exists() for run in _runs(folder / "results"))


def test_interrupted_sweep_goes_on_where_it_stopped(tmp_path: Path, process: Process) -> None:
    study = REPO / "scenarios" / "loads.toml"
    _interrupt(["sweep", study], tmp_path, 0.7)
    first = {folder: folder.stat().st_mtime_ns for folder in _runs(tmp_path / "results")}
    assert process("sweep", study).returncode == 0
    assert process("sweep", study, "-o", "fresh").returncode == 0
    assert {folder: folder.stat().st_mtime_ns for folder in first} == first
    assert entries(tmp_path / "results") == entries(tmp_path / "fresh")
    summaries = [(tmp_path / name / "loads.parquet").read_bytes() for name in ("results", "fresh")]
    assert summaries[0] == summaries[1]


@pytest.mark.parametrize("module", ["sojourn.apps.gym.soak", "sojourn.apps.gym.bench"])
def test_an_interrupted_module_ends_with_a_line(tmp_path: Path, module: str) -> None:
    pytest.importorskip("gymnasium")
    words = ["--episodes", str(10**6)] if module.endswith("soak") else []
    command = [sys.executable, "-u", "-m", module, *words]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        message, _ = process.communicate(timeout=60)
    assert re.match(r"\d+ of 1000000 episodes" if words else " +steps", first), first
    assert process.returncode == 130
    assert message.splitlines()[-1] == "Interrupted; finished runs are kept."
    assert "Traceback" not in message


def _runs(folder: Path) -> list[Path]:
    return [entry for entry in folder.iterdir() if entry.is_dir()] if folder.exists() else []


def _limit_files(size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _interrupt(args: list[object], folder: Path, wait_s: float) -> tuple[int, str, float]:
    command = [sys.executable, "-m", "sojourn", *(str(arg) for arg in args)]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(wait_s)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    return process.returncode, stderr, time.monotonic() - began
