"""Results do not depend on how a study is run: jobs, shards, executors, and killed processes."""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from conftest import REPO, SHORT, Cli, Process, printed_json
from sojourn.base import files
from sojourn.base.errors import InputError, MissingError
from sojourn.studies.runs import runner, store, worker
from sojourn.studies.runs.runner import Runner

MY_CODEL = REPO / "examples" / "python-aqm" / "my_codel.py"
SWEEP = '\n[sweep]\n"link.aqm" = ["codel", "pie"]\n"flows.0.count" = [1, 4]\nseeds = 3\n'
RUNS = 12


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(SHORT + SWEEP)
    return path


@pytest.fixture
def undisturbed(study: Path, cli: Cli) -> bytes:
    """Table of all runs, made without interruption."""
    return Path(printed_json(cli("sweep", study, "-o", "undisturbed", "--json"))["runs"]).read_bytes()


def tree(folder: Path) -> dict[str, bytes]:
    """Contents of all files below a folder, including hidden ones."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_jobs(cli: Cli, study: Path, undisturbed: bytes, jobs: int) -> None:
    found = printed_json(cli("sweep", study, "--jobs", jobs, "--json"))
    assert Path(found["runs"]).read_bytes() == undisturbed
    assert found["computed"] == RUNS


def test_shards_and_merge(cli: Cli, study: Path, undisturbed: bytes) -> None:
    folders = []
    for number in (1, 2, 3):
        found = printed_json(cli("sweep", study, "--shard", f"{number}/3", "-o", f"s{number}", "--json"))
        assert (found["computed"], found["of_runs"]) == (RUNS // 3, RUNS)
        folders += [Path(one).name for one in found["folders"]]
        assert not (Path(f"s{number}") / "study.parquet").exists()
    assert len(set(folders)) == RUNS == len(folders)
    merge = [word for number in (1, 2, 3) for word in ("--merge", f"s{number}")]
    found = printed_json(cli("sweep", study, *merge, "-o", "all", "--json"))
    assert (found["computed"], found["adopted"]) == (0, RUNS)
    assert Path(found["runs"]).read_bytes() == undisturbed
    for number in (1, 2, 3):
        assert tree(Path(f"s{number}")).items() <= tree(Path("all")).items()
    again = printed_json(cli("sweep", study, *merge, "-o", "all", "--json"))
    assert (again["computed"], again["adopted"]) == (0, 0)


def test_a_missing_shard_is_computed(cli: Cli, study: Path, undisturbed: bytes) -> None:
    assert "shard 1/2: 6 of 12 runs, 6 computed" in cli("sweep", study, "--shard", "1/2", "-o", "s1").output
    result = cli("sweep", study, "--merge", "s1", "-o", "all")
    assert "Runs: 12, 6 computed, 6 copied" in result.output
    assert Path("all/study.parquet").read_bytes() == undisturbed


def test_a_damaged_run_is_not_merged(cli: Cli, study: Path) -> None:
    found = printed_json(cli("sweep", study, "--shard", "1/12", "-o", "s1", "--json"))
    table = Path(found["folders"][0]) / "sojourn_histogram.parquet"
    table.write_bytes(bytes(byte ^ 1 for byte in table.read_bytes()))
    result = cli("sweep", study, "--merge", "s1", "-o", "all")
    assert result.exit_code == 2, result.stderr
    assert "damaged result" in result.stderr
    assert not list(Path("all").glob(f"*{table.parent.name}*"))


REFUSED = {
    "no such part": (["--shard", "5/4"], "there is no 5/4 of 12 runs"),
    "part nought": (["--shard", "0/4"], "there is no 0/4"),
    "more parts than runs": (["--shard", "1/13"], "there is no 1/13 of 12 runs"),
    "no part": (["--shard", "half"], "write e.g. 1/4"),
    "no folder": (["--merge", "none"], "none: no such folder"),
    "an empty folder": (["--merge", "empty"], "empty: holds no run of this study"),
    "a part of an open number": (["--shard", "1/2", "--until", "5%"], "without it"),
    "two hosts": (["--jobs", "2", "--dask", "tcp://x:1"], "--jobs applies to this machine"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(cli: Cli, study: Path, case: str) -> None:
    options, expected = REFUSED[case]
    Path("empty").mkdir()
    result = cli("sweep", study, *options, "-o", "out")
    assert result.exit_code == 2
    assert expected in result.stderr
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("change", "expected"),
    [({"sojourn": "0.0.1"}, "computed by sojourn 0.0.1"), ({"format": 1}, "result format 1")],
)
def test_results_of_another_version(cli: Cli, study: Path, change: dict[str, Any], expected: str) -> None:
    found = printed_json(cli("sweep", study, "--shard", "1/12", "-o", "s1", "--json"))
    manifest = Path(found["folders"][0]) / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | change))
    for options in (["-o", "s1"], ["--merge", "s1", "-o", "all"]):
        result = cli("sweep", study, *options)
        assert result.exit_code == 2, result.output
        assert expected in result.stderr


def test_a_folder_of_another_format_is_named(cli: Cli, study: Path) -> None:
    """Another format has other hashes, so none of its runs is found by name."""
    found = printed_json(cli("sweep", study, "--shard", "1/12", "-o", "s1", "--json"))
    folder = Path(found["folders"][0])
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format": 1}))
    folder.rename(folder.with_name("0" * 16))
    result = cli("sweep", study, "--merge", "s1")
    assert result.exit_code == 2
    assert "result format 1" in result.stderr


def test_a_million_runs_need_a_word(cli: Cli, study: Path) -> None:
    study.write_text(study.read_text().replace("seeds = 3", "seeds = 250000"))
    began = time.monotonic()
    result = cli("sweep", study)
    assert result.exit_code == 2
    assert "1000000 runs" in result.stderr
    assert "--yes" in result.stderr
    assert time.monotonic() - began < 1.0
    assert len(sj.Study.load(study, many=True).runs) == 1_000_000


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_executors(study: Path, undisturbed: bytes, tmp_path: Path, kind: str) -> None:
    loaded = sj.Study.load(study)
    pools: dict[str, Executor] = {
        "threads": ThreadPoolExecutor(3),
        "processes": ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")),
    }
    shares: list[float] = []
    with pools[kind] as pool:
        stored = loaded.run(tmp_path / "out", executor=pool, progress=lambda share, *_: shares.append(share))
        unstored = loaded.run(executor=pool)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert stored.runs.equals(unstored.runs)
    stored.runs.write_parquet(tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").read_bytes() == undisturbed
    for one, other in zip(stored.results, unstored.results, strict=True):
        assert one.histogram.equals(other.histogram)


def test_an_executor_gets_only_missing_runs(study: Path, tmp_path: Path) -> None:
    loaded = sj.Study.load(study)
    Runner(tmp_path / "out")(loaded.shard(1, 2))
    with ThreadPoolExecutor(1) as pool:
        runner = Runner(tmp_path / "out", executor=pool)
        loaded.run_by(runner)
        assert set(runner.computed) == set(loaded.shard(2, 2))
        loaded.run_by(runner)
    assert len(runner.computed) == 6


def test_executors_run_queue_managers_in_files(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f'{SHORT}[sweep]\n"link.aqm" = ["{MY_CODEL}:MyCodel", "codel"]\nseeds = 2\n')
    loaded = sj.Study.load(path)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert loaded.run(executor=pool).runs.equals(loaded.run(jobs=2).runs)


@pytest.mark.parametrize("seconds", [0.0, 60.0], ids=["a run per batch", "whole batches"])
def test_batches_change_no_result(study: Path, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Runs that a batch has no time for are done later, and all are in the order of the study."""
    monkeypatch.setattr(worker, "BATCH_S", seconds)
    monkeypatch.setattr(runner, "BATCHES", 2)
    loaded = sj.Study.load(study)
    with ThreadPoolExecutor(2) as pool:
        assert loaded.run(executor=pool).runs.equals(loaded.run(jobs=1).runs)


def test_an_error_in_a_batch_keeps_the_runs_before_it(tmp_path: Path) -> None:
    trace = tmp_path / "x.trace"
    trace.write_text("1\n")
    link = SHORT.replace('rate = "10 Mbit/s"', f'trace = "{trace}"')
    tasks = [worker.task(sj.Scenario.parse(text), 1) for text in (SHORT, link)]
    trace.write_text("1\n2\n")
    assert len(worker.answers_of(worker.do_tasks(tasks))) == 1
    with pytest.raises(sj.InputError, match=r"x\.trace: a worker has another version"):
        worker.do_tasks(tasks[1:])


def test_executors_refuse_a_class_of_this_program() -> None:
    class Mine(sj.Aqm):
        def emptied(self, cx: object) -> None:
            pass

    task = sj.Scenario.parse(SHORT, {"link.aqm": Mine})
    with pytest.raises(sj.InputError, match="defined in this program only"):
        worker.task(task, 1)


def test_another_process_refuses_runs_that_would_differ(tmp_path: Path) -> None:
    trace = tmp_path / "x.trace"
    trace.write_text("1\n")
    task = worker.task(sj.Scenario.parse(SHORT.replace('rate = "10 Mbit/s"', f'trace = "{trace}"')), 1)
    with pytest.raises(MissingError, match=r"worker has sojourn .*, this program 9\.9"):
        worker.do_tasks([replace(task, version="9.9")])
    trace.write_text("1\n2\n")
    with pytest.raises(sj.InputError, match=r"x\.trace: a worker has another version"):
        worker.do_tasks([task])


def test_an_executor_or_jobs() -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(sj.InputError, match="leave out one"):
        Runner(executor=pool, jobs=2)


KILLED = """
name = "killed"
duration = "150 s"

[link]
rate = "10 Mbit/s"
aqm = "codel"

[[flows]]
kind = "tcp"
stack = "linux-2.6.29"
cc = "reno"
rtt = "40 ms"

[sweep]
"link.aqm" = ["codel", "pie"]
"flows.0.count" = [1, 4]
seeds = 8
"""


def test_killed_at_any_moment(tmp_path: Path, process: Process) -> None:
    """After repeated SIGKILLs the final files are identical, and no file is half-written."""
    (tmp_path / "study.toml").write_text(KILLED)
    args = ["sweep", "../study.toml", "-o", "results", "--jobs", "2"]
    command = [sys.executable, "-m", "sojourn", *args]
    folders = [tmp_path / "killed", tmp_path / "undisturbed"]
    for folder in folders:
        folder.mkdir()
    generator, counts = random.Random(7), [0]
    for _ in range(4):
        running = subprocess.Popen(command, cwd=folders[0], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 30
        while running.poll() is None and _finished(folders[0]) <= counts[-1] and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(generator.uniform(0, 0.1))
        running.send_signal(signal.SIGKILL)
        running.wait()
        counts.append(_finished(folders[0]))
    assert 0 < counts[1] < 32  # it was killed in the middle of its work
    assert counts == sorted(counts)
    for folder in folders:
        done = process(*args, cwd=folder)
        assert done.returncode == 0, done.stderr
    found, expected = (tree(folder / "results") for folder in folders)
    assert found.keys() == expected.keys()
    assert found == expected


def _finished(folder: Path) -> int:
    return len(list(folder.glob("results/[!.]*/manifest.json")))


def test_leftovers_of_a_killed_process_are_not_reused(tmp_path: Path) -> None:
    """A process id may be reused, and then the half-written folder has the same name."""
    run = sj.Study.load(_written(tmp_path)).runs[0]
    name = store.run_hash(run.scenario, run.seed)
    host = files._HOST
    left = [tmp_path / "out" / f".{name}.{host}.{number}.part" for number in (os.getpid(), 2**22 + 1)]
    other_host = tmp_path / "out" / f".{name}.other.{2**22 + 1}.part"
    for part in [*left, other_host]:
        part.mkdir(parents=True)
        (part / "stale.parquet").write_bytes(b"?")
    [result] = Runner(tmp_path / "out")([run])
    assert result.folder is not None
    assert not (result.folder / "stale.parquet").exists()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted([name, other_host.name])


def _written(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(SHORT + SWEEP)
    return path


def _obey_permissions() -> None:
    """Make a process, even of root, obey file permissions."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP; takes effect at the next exec


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="drops a capability of Linux")
def test_read_only_results(tmp_path: Path, process: Process) -> None:
    study = _written(tmp_path)
    locked, finished = tmp_path / "locked", tmp_path / "finished"
    locked.mkdir()
    assert process("sweep", study, "-o", finished).returncode == 0
    for folder in (locked, finished):
        folder.chmod(0o500)
    try:
        refused = process("sweep", study, "-o", locked, preexec_fn=_obey_permissions)
        assert refused.returncode == 3, refused.stderr
        assert refused.stderr.splitlines() == [
            f"Error: {locked}: Permission denied; choose a place with -o that you may write to"
        ]
        assert list(locked.iterdir()) == []
        read = process("sweep", study, "-o", finished, "--json", preexec_fn=_obey_permissions)
        assert read.returncode == 0, read.stderr
        assert json.loads(read.stdout)["computed"] == 0
        study.write_text(study.read_text().replace("seeds = 3", "seeds = 2"))
        table = process("sweep", study, "-o", finished, preexec_fn=_obey_permissions)
        assert table.returncode == 3
        assert "Permission denied" in table.stderr
    finally:
        for folder in (locked, finished):
            folder.chmod(0o700)


def test_a_writer_that_fails_takes_no_folder_from_another(tmp_path: Path) -> None:
    folder, stop = tmp_path / "all", threading.Event()

    def fail() -> None:
        while not stop.is_set():
            with suppress(InputError), files.new_folder(folder / "damaged"):
                raise InputError("damaged result")

    other = threading.Thread(target=fail)
    other.start()
    try:
        for number in range(300):
            with files.new_folder(folder / str(number)) as part:
                files.write_file(part / "table", lambda file: file.write(b"1"))
            assert (folder / str(number) / "table").read_bytes() == b"1"
            shutil.rmtree(folder / str(number))
            with files._commit, suppress(OSError):
                folder.rmdir()
    finally:
        stop.set()
        other.join()
    assert not list(folder.glob(".*"))
