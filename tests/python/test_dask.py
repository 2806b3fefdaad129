"""Runs on a Dask cluster: the same results as local runs even if workers fail; one-line errors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import SHORT, Process
from sojourn.base.errors import MissingError
from sojourn.studies.runs.cluster import GRACE_S, no_workers

STUDY = SHORT.replace('"3 s"', '"300 s"') + '\n[sweep]\n"link.aqm" = ["codel", "pie"]\nseeds = 6\n'
RUNS = 12
SOON = os.environ | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "1s"}
"""Dask's connect timeout."""
START_S = 40
"""Timeout for the start of scheduler and worker, generous for a busy machine."""

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a program of distributed, terminated at the end of the test."""
    pytest.importorskip("distributed", reason="distributed (the extra dask) is not installed")
    running: list[subprocess.Popen[bytes]] = []

    def program(name: str, *args: object) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{name}", *map(str, args), "--no-dashboard"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        running.append(subprocess.Popen(command, cwd=tmp_path, **quiet))
        return running[-1]

    yield program
    for one in running:
        one.kill()
        one.wait()


@pytest.fixture
def scheduler(start: Start, tmp_path: Path) -> tuple[str, subprocess.Popen[bytes]]:
    """Address of a scheduler without workers, and its process."""
    file = tmp_path / "scheduler.json"
    process = start("dask_scheduler", "--host", "127.0.0.1", "--port", 0, "--scheduler-file", file)
    _wait_for(lambda: _address(file) is not None)
    return str(_address(file)), process


@pytest.fixture
def workers(start: Start, scheduler: tuple[str, object]) -> list[subprocess.Popen[bytes]]:
    """Two workers, which are not restarted."""
    return [start("dask_worker", scheduler[0], "--no-nanny", "--nthreads", 1) for _ in range(2)]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def test_a_worker_is_killed_half_way(
    study: Path,
    scheduler: tuple[str, object],
    workers: list[subprocess.Popen[bytes]],
    process: Process,
    tmp_path: Path,
) -> None:
    here = process("sweep", study, "-o", "here")
    assert here.returncode == 0, here.stderr
    _wait_for_workers(scheduler[0], 2)
    command = [sys.executable, "-m", "sojourn", "sweep", str(study), "-o", "there", "--dask", scheduler[0], "--json"]
    pipe = subprocess.PIPE
    sweep = subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True)
    _wait_for(lambda: len(list((tmp_path / "there").glob("[!.]*/manifest.json"))) >= 3)
    os.kill(workers[0].pid, signal.SIGKILL)
    out, err = sweep.communicate(timeout=60)
    assert sweep.returncode == 0, err
    found = json.loads(out)
    assert found["computed"] == RUNS == len(set(found["folders"]))
    assert (tmp_path / "there" / "study.parquet").read_bytes() == (tmp_path / "here" / "study.parquet").read_bytes()
    runs = [{path.name for path in (tmp_path / place).iterdir()} for place in ("here", "there")]
    assert runs[0] == runs[1]
    again = process("sweep", study, "-o", "there", "--dask", scheduler[0], "--json")
    assert json.loads(again.stdout)["computed"] == 0


def test_the_scheduler_is_killed(
    study: Path,
    scheduler: tuple[str, subprocess.Popen[bytes]],
    workers: list[subprocess.Popen[bytes]],
    process: Process,
    tmp_path: Path,
) -> None:
    study.write_text(STUDY.replace('"300 s"', '"3000 s"'))
    _wait_for_workers(scheduler[0], 1)
    command = [sys.executable, "-m", "sojourn", "sweep", str(study), "-o", "there", "--dask", scheduler[0]]
    sweep = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    _wait_for(lambda: len(list((tmp_path / "there").glob("[!.]*/manifest.json"))) >= 1)
    scheduler[1].kill()
    _, err = sweep.communicate(timeout=90)
    assert sweep.returncode == 3, err
    [line] = [line for line in err.splitlines() if " runs, " not in line]  # the other lines are progress
    assert line.startswith(f"Error: {scheduler[0]}: the Dask scheduler was lost")
    assert "finished runs are kept" in line


def test_dask_s_log_of_a_lost_connection_is_not_printed(scheduler: tuple[str, object]) -> None:
    """It is a race whether Dask's event loop logs an exception before the command ends."""
    code = f"""
import contextlib, logging
from sojourn.studies.runs.cluster import cluster
from sojourn.base.errors import MissingError
with contextlib.suppress(MissingError), cluster({scheduler[0]!r}):
    pass
for name in ("asyncio", "tornado.application", "tornado.new", "distributed.client", "distributed.new"):
    logging.getLogger(name).critical("a line of %s", name)
"""
    done = subprocess.run([sys.executable, "-c", code], env=SOON, capture_output=True, text=True, timeout=START_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_scheduler(study: Path, process: Process) -> None:
    pytest.importorskip("distributed", reason="distributed (the extra dask) is not installed")
    done = process("sweep", study, "--dask", "tcp://127.0.0.1:1", env=SOON)
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert "tcp://127.0.0.1:1: no Dask scheduler answers" in done.stderr


def test_no_worker(study: Path, scheduler: tuple[str, object], process: Process) -> None:
    done = process("sweep", study, "--dask", scheduler[0], env=SOON)
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert "has no workers; start some" in done.stderr


def test_without_distributed(study: Path, process: Process, tmp_path: Path) -> None:
    (tmp_path / "distributed.py").write_text("raise ImportError('not here')\n")
    done = process("sweep", study, "--dask", "tcp://127.0.0.1:1", env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 3
    assert done.stderr == "Error: --dask needs distributed, which is not installed; pip install 'sojourn[dask]'\n"


def test_the_last_worker_has_some_time_to_come_back() -> None:
    now, alive = [0.0], [1]
    watch = no_workers(lambda: alive[0], "tcp://x:1", lambda: now[0])
    for at, workers in ((100.0, 1), (101.0, 0), (100.0 + GRACE_S - 1, 0), (140.0, 1), (140.0 + GRACE_S - 1, 0)):
        now[0], alive[0] = at, workers
        watch()
    now[0] = 140.0 + GRACE_S
    with pytest.raises(MissingError, match="no Dask worker is left for 30 s"):
        watch()


def _address(file: Path) -> str | None:
    """Address in a scheduler's file, which is created before it is written."""
    try:
        return str(json.loads(file.read_text())["address"])
    except (OSError, ValueError):
        return None


def _wait_for(happened: Callable[[], bool]) -> None:
    until = time.monotonic() + START_S
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.02)


def _wait_for_workers(address: str, count: int) -> None:
    code = f"import distributed; distributed.Client({address!r}).wait_for_workers({count}, timeout={START_S})"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=2 * START_S)
