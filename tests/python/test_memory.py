"""Recorded tables do not stay in memory, and too little memory gives a one-line error and exit code 3."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import sojourn as sj
from conftest import REPO, Process, entries
from sojourn import _core
from sojourn.base import guard, memory
from sojourn.base.errors import MissingError, OutOfMemoryError
from sojourn.model.results.result import Result
from sojourn.studies.runs import store
from sojourn.studies.runs.runner import Runner
from sojourn.studies.runs.worker import Worker

EVERY_PROBE = {
    "duration": "20 s",
    "link.rate": "100 Mbit/s",
    "probes.headers": True,
    "probes.transfers": True,
    "probes.senders": True,
    "probes.queue": "100 us",
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Result]:
    """A run in memory, and the same run from a folder, with several row groups."""
    scenario = sj.Scenario.load(REPO / "scenarios" / "codel.toml", EVERY_PROBE)
    root = tmp_path_factory.mktemp("out")
    return scenario.run(1), store.run(scenario, 1, root, [])


def test_tables_that_were_written_while_the_run_went_on_are_the_same(both: tuple[Result, Result]) -> None:
    in_memory, stored = both
    assert stored.fingerprint == in_memory.fingerprint
    assert stored.totals == in_memory.totals
    assert stored.table_names == in_memory.table_names
    assert stored.table("packets").height > 2**17  # more than one row group
    for name in stored.table_names:
        assert stored.table(name).schema == in_memory.table(name).schema, name
        assert stored.table(name).equals(in_memory.table(name)), name


def test_other_readers_read_them_too(both: tuple[Result, Result]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    _, stored = both
    assert stored.folder is not None
    for name in stored.table_names:
        path = stored.folder / f"{name}.parquet"
        assert pl.DataFrame(parquet.read_table(path)).equals(stored.table(name)), name
    groups = parquet.read_metadata(stored.folder / "packets.parquet").num_row_groups
    assert 1 < groups <= stored.table("packets").height // 2**17 + 1  # each group but the last one has this many rows


def test_columns_that_begin_late_are_nan_before(tmp_path: Path) -> None:
    """A queue manager may report a variable late, after rows without it have been written."""
    (tmp_path / "late.py").write_text(LATE)
    sets = {"probes.state": "20 us", "duration": "3 s", "warmup": "0 s", "link.aqm": f"{tmp_path}/late.py:Late"}
    scenario = sj.Scenario.load(REPO / "scenarios" / "codel.toml", sets)
    in_memory, stored = scenario.run(1), store.run(scenario, 1, tmp_path / "out", [])
    table = stored.table("state")
    assert table.height > 2 * 2**17
    assert table["late"].head(2**17).is_nan().all()
    assert not table.filter(pl.col("link") == 0).tail(10)["late"].is_nan().any()
    assert table.equals(in_memory.table("state"))


LATE = """
import sojourn as sj

class Late(sj.Aqm):
    def dequeue(self, cx, fifo):
        self.now = cx.now
        return super().dequeue(cx, fifo)

    def observe(self):
        return {"late": 1.0} if getattr(self, "now", 0) > 2.5e9 else {}
"""


def test_files_are_no_larger_than_polars_files(both: tuple[Result, Result], tmp_path: Path) -> None:
    _, stored = both
    assert stored.folder is not None
    for name in ("packets", "queue", "state"):
        stored.table(name).write_parquet(tmp_path / name)
        assert (stored.folder / f"{name}.parquet").stat().st_size < (tmp_path / name).stat().st_size, name


def test_a_run_with_every_packet_takes_no_more_memory_when_it_is_longer(tmp_path: Path) -> None:
    peaks = [_peak_mb(tmp_path, f"{seconds} s") for seconds in (12, 45)]
    assert peaks[1] < peaks[0] + 30, peaks  # 1.3 million packets took 90 MB


def _peak_mb(folder: Path, duration: str) -> float:
    program = (
        "import sojourn as sj, resource, sys; from pathlib import Path; from sojourn.studies.runs import store;"
        "sets = {'duration': sys.argv[3], 'link.rate': '200 Mbit/s'};"
        "store.run(sj.Scenario.load(sys.argv[1], sets), 1, Path(sys.argv[2]), []);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)"
    )
    args = [sys.executable, "-c", program, REPO / "scenarios" / "codel.toml", folder, duration]
    return float(subprocess.run(args, check=True, capture_output=True, text=True).stdout)


DURATION = ["--set", "duration=5 s", "--set", "warmup=1 s"]
COMMANDS = {
    "run": ["run", REPO / "scenarios" / "codel.toml", *DURATION, "--set", "link.rate=100 Mbit/s"],
    "sweep": ["sweep", REPO / "scenarios" / "loads.toml"],
    "compare": ["compare", "--aqm", "codel,pie", "--duration", "5s"],
    "plot": ["plot", "timeseries", "results"],
}


@pytest.mark.parametrize("megabytes", [300, 500, 700, 900, 1200, 1600, 2000])
@pytest.mark.parametrize("case", COMMANDS)
def test_limited_memory(process: Process, tmp_path: Path, case: str, megabytes: int) -> None:
    if case == "plot":
        assert process(*COMMANDS["run"]).returncode == 0
    before = entries(tmp_path)
    done = process(*COMMANDS[case], preexec_fn=_limit_memory(megabytes))
    assert done.returncode in (0, 3), done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    if done.returncode == 3:
        assert "memory" in done.stderr
        assert len([line for line in done.stderr.splitlines() if line.startswith("Error: ")]) == 1, done.stderr
    assert not list(tmp_path.rglob("*.part"))
    assert all((run / "manifest.json").exists() for run in tmp_path.glob("results/*/") if run.is_dir())
    assert entries(tmp_path) >= before


def _limit_memory(megabytes: int) -> Callable[[], None]:
    size = megabytes * 10**6
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))


TOO_MANY = 'duration = "1 ms"\nwarmup = "0 s"\n[link]\nrate = "1 Mbit/s"\n[[flows]]\nkind = "tcp"\ncount = 300000\n'


def test_a_run_that_finds_no_memory_is_one_line_and_3(process: Process, tmp_path: Path) -> None:
    (tmp_path / "many.toml").write_text(TOO_MANY)
    done = process("run", "many.toml", preexec_fn=_limit_memory(500))
    assert done.returncode == 3, done.stderr
    assert [line for line in done.stderr.splitlines() if "emory" in line] == [
        line for line in done.stderr.splitlines() if line.startswith(("Memory needed: up to", "Error: out of memory: "))
    ]
    assert len([line for line in done.stderr.splitlines() if line.startswith("Error: ")]) == 1, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert not list(tmp_path.rglob("*.part"))


def test_a_study_goes_on_without_the_run_that_finds_no_memory(process: Process, tmp_path: Path) -> None:
    counts = '[sweep]\n"flows.0.count" = [1, 300000, 2]\n'
    (tmp_path / "many.toml").write_text(TOO_MANY + counts)
    done = process("sweep", "many.toml", "--jobs", "1", preexec_fn=_limit_memory(500))
    assert done.returncode == 3, done.stderr
    assert "Lost for lack of memory: flows.0.count 300000, seed 1: " in done.stdout
    rows = [line.split()[0] for line in done.stdout.splitlines() if line.split()[:1] in (["1"], ["2"], ["300000"])]
    assert set(rows) == {"1", "2"}
    assert "Traceback" not in done.stdout + done.stderr


def test_enough_memory_under_a_limit_changes_nothing(process: Process, tmp_path: Path) -> None:
    plain = process(*COMMANDS["run"], "-o", "plain")
    limited = process(*COMMANDS["run"], "-o", "limited", preexec_fn=_limit_memory(8000))
    assert (plain.returncode, limited.returncode) == (0, 0), limited.stderr
    assert plain.stdout.replace("plain", "limited") == limited.stdout
    # Progress may be printed if the run takes over a second.
    assert "Error" not in limited.stderr
    assert "emory" not in limited.stderr
    for path in (tmp_path / "plain").rglob("*.parquet"):
        assert path.read_bytes() == (tmp_path / "limited" / path.relative_to(tmp_path / "plain")).read_bytes()


def test_an_error_of_the_user_is_the_same_under_a_limit(process: Process) -> None:
    plain = process("run", "no-such-file.toml")
    limited = process("run", "no-such-file.toml", preexec_fn=_limit_memory(4000))
    assert (limited.returncode, limited.stdout, limited.stderr) == (2, plain.stdout, plain.stderr)


def test_a_run_that_lost_its_process_is_named_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    study = sj.Study.load(tmp_path / "study.toml")
    doomed = study.runs[2]
    do = Worker.do

    def killed(worker: Worker, scenario: sj.Scenario, seed: int, *rest: object) -> Result:
        if (scenario, seed) == (doomed.scenario, doomed.seed):
            worker._process.kill()
        return do(worker, scenario, seed, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Worker, "do", killed)
    monkeypatch.setattr(memory, "ANNOUNCED_BYTES", 0)  # announce every run
    with pytest.raises(MissingError, match=r"out of memory: 1 of 4 runs were lost, the first as .* SIGKILL"):
        study.run_by(Runner(tmp_path / "out"))
    found = study.run_by(Runner(tmp_path / "out", keeps_going=True))
    assert list(found.lost) == [2]
    assert [values["link.rate"] for values, _ in found.with_values()] == ["1 Mbit/s", "1 Mbit/s", "2 Mbit/s"]
    assert found.losses == ["Lost for lack of memory: link.rate 2 Mbit/s, seed 1: its process exited with SIGKILL"]
    assert [result.seed for result in found.results] == [1, 2, 2]
    assert not found.has_pairs


def test_a_lost_process_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "study.toml").write_text(STUDY.replace('duration = "1 s"', 'duration = "1000000 s"'))
    monkeypatch.setattr(memory, "ANNOUNCED_BYTES", 0)
    runs = sj.Study.load(tmp_path / "study.toml").runs[:1]
    workers: list[Worker] = []
    started = Worker.__init__

    def noted(worker: Worker, *, may_end: bool) -> None:
        started(worker, may_end=may_end)
        workers.append(worker)

    def kill_once_it_writes(_share: float, _finished: int, _total: int) -> None:
        if list((tmp_path / "out").glob(".*.part")):
            workers[0]._process.kill()

    monkeypatch.setattr(Worker, "__init__", noted)
    with pytest.raises(MissingError, match="out of memory: its process exited with SIGKILL"):
        Runner(tmp_path / "out", progress=kill_once_it_writes)(runs)
    assert not entries(tmp_path / "out")


STUDY = """
duration = "1 s"
warmup = "0 s"
[link]
rate = "1 Mbit/s"
[[flows]]
kind = "tcp"
[sweep]
"link.rate" = ["1 Mbit/s", "2 Mbit/s"]
seeds = 2
"""


def test_memory_needs_are_reported_before_a_run(process: Process, tmp_path: Path) -> None:
    path = tmp_path / "many.toml"
    path.write_text('duration = "1 ms"\n[link]\nrate = "1 Mbit/s"\n[[flows]]\nkind = "tcp"\ncount = 130000\n')
    of_run, of_packets = _core.need(sj.Scenario.load(path).canonical)
    assert of_run > memory.ANNOUNCED_BYTES
    assert of_packets == 0
    done = process("run", path)
    assert done.returncode == 0, done.stderr
    assert f"Memory needed: up to {memory.format_bytes(of_run)}" in done.stderr


def test_a_table_that_there_is_no_memory_for_is_not_read(
    both: tuple[Result, Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, stored = both
    assert stored.folder is not None
    monkeypatch.setattr(memory, "free", lambda: 1_000_000)
    monkeypatch.setattr(store, "LARGE", 100_000)
    with pytest.raises(MissingError, match=r"packets.parquet: its [\d,]+ rows take [\d.]+ MB of memory, 1 MB are free"):
        store.load(stored.folder).table("packets")
    assert store.load(stored.folder).table("utilisation").height > 0


FAR = """duration = "4 s"
warmup = "0 s"
[link]
rate = "20 Gbit/s"
delay = "3 s"
[[flows]]
kind = "cbr"
rate = "19 Gbit/s"
"""
"""Almost five million packets are in flight at the end."""


def test_a_run_without_memory_for_its_packets_is_one_line_and_3(process: Process, tmp_path: Path) -> None:
    (tmp_path / "far.toml").write_text(FAR)
    done = process("run", "far.toml", preexec_fn=_limit_memory(700))
    assert done.returncode == 3, done.stderr
    [line] = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert re.search(
        r"out of memory: the data in flight of the run grow to [\d.]+ [MG]B, but only \d+ MB are free; ", line
    ), line
    assert "Traceback" not in done.stdout + done.stderr
    assert not list(tmp_path.rglob("*.part"))
    assert not list(tmp_path.rglob("manifest.json"))


def test_packets_under_way_ask_before_they_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "far.toml").write_text(FAR)
    requests: list[int] = []

    def is_available(need: int) -> bool:
        requests.append(need)
        return need < 100_000_000

    monkeypatch.setattr(memory, "is_available", is_available)
    with pytest.raises(OutOfMemoryError, match=r"the data in flight of the run grow to 134 MB, .* are free"):
        sj.Scenario.load(tmp_path / "far.toml").run(1)
    assert requests == sorted(set(requests)), "each growth is asked for once"
    assert requests[0] >= 16 << 20


def test_free_memory_is_the_minimum_of_all_limits() -> None:
    program = "from sojourn.base import memory; print(memory.free(), memory.address_space())"
    args = [sys.executable, "-c", program]
    done = subprocess.run(args, check=True, capture_output=True, text=True, preexec_fn=_limit_memory(100))
    free, taken = map(int, done.stdout.split())
    assert free == 100_000_000 - taken
    assert taken > 1_000_000


def test_groups_of_either_version_limit_memory(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    for folder, limit in ((inner, "max"), (tmp_path / "a", "5000"), (tmp_path, "9000")):
        (folder / "memory.max").write_text(f"{limit}\n")
        (folder / "memory.current").write_text("3000\n")
        (folder / "memory.stat").write_text("anon 1\ninactive_file 500\n")
    assert memory._limits(tmp_path, "/a/b", "memory.max", "memory.current", "inactive_file") == [2500, 6500]


def test_a_missing_library_is_a_defect_and_no_lack_of_memory() -> None:
    assert guard.is_out_of_memory(MemoryError())
    assert guard.is_out_of_memory(_chained(ImportError("numpy"), OSError(12, os.strerror(12))))
    assert not guard.is_out_of_memory(ImportError("no module named x"))


def _chained(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


def test_drops_of_a_tunnel_take_little_memory(process: Process, tmp_path: Path) -> None:
    """A tunnel's id is near 2**32, and was the index of a list."""
    (tmp_path / "tunnel.toml").write_text(
        'duration = "900 ms"\n[link]\nrate = "4.7 Mbit/s"\nlimit = "9 packets"\n[[flows]]\nkind = "tcp"\n'
        'middlebox = "tunnel"\n[probes]\ndrops = true\n'
    )
    done = process("run", "tunnel.toml", "-o", "out", preexec_fn=_limit_memory(3000))
    assert done.returncode == 0, done.stderr
    [table] = (tmp_path / "out").rglob("drops.parquet")
    drops = pl.read_parquet(table)
    assert drops.height > 3
    assert drops["flow"].n_unique() == 1 and drops["flow"][0] > 2**31
    assert drops["number"].is_sorted() and drops["number"].n_unique() == drops.height


def test_queues_that_there_is_no_memory_for_are_one_line_and_3(process: Process, tmp_path: Path) -> None:
    """A few bytes of text each request a megabyte: 20,000 classes with eight tins."""
    classes = "; ".join(f"class {n:x} parent 1 rate 9kbit {{ cake diffserv8 }}" for n in range(2, 20_000))
    (tmp_path / "wide.toml").write_text(
        'duration = "1 s"\n[link]\nrate = "5 Mbit/s"\n'
        f'aqm = "htb {{ class 1 rate 5mbit; {classes} }}"\n[[flows]]\nkind = "tcp"\n'
    )
    done = process("run", "wide.toml", preexec_fn=_limit_memory(4000))
    assert done.returncode == 3, done.stderr
    [line] = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert re.search(r"out of memory: its queues need [\d.]+ GB, but only [\d.]+ [MG]B are free; ", line), line
    assert "Memory needed: up to" in done.stderr
