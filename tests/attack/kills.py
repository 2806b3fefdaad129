"""Kills runs at random times and reruns them: no file is half-written, and the final results are identical."""

from __future__ import annotations

import hashlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from attack.inputs import environment
from attack.scenarios import FILES
from sojourn.studies.runs.order import ORDER

SCENARIO = """
duration = "60 s"
warmup = "1 s"
[link]
rate = "20 Mbit/s"
aqm = "codel"
[[flows]]
kind = "tcp"
count = 4
rtt = "40 ms"
spread = "1 s"
[probes]
packets = true
queue = "10 ms"
"""
STUDY = '[sweep]\n"link.aqm" = ["codel", "pie", "fq(codel)"]\nseeds = 3\n'
OWN = '[sweep]\n"link.aqm" = ["mine.py:Mine", "mine.py:Mine depth 30"]\nseeds = 2\n'
LINES = {
    "study": ["sweep", "study.toml", "-o", "out", "--jobs", "2"],
    "queue managers in Python": ["sweep", "own.toml", "-o", "out", "--jobs", "2"],
    "comparison": ["compare", "--aqm", "codel,pie", "--duration", "120 s", "--seeds", "3", "-o", "out"],
    "run": ["run", "one.toml", "-o", "out"],
}
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


@dataclass
class Kills:
    """Outcomes of all kills."""

    count: int = 0
    in_a_run: int = 0
    """Kills during at least one run."""
    in_storing: int = 0
    """Kills while a result was being stored."""
    too_late: int = 0
    """Kills after the end."""
    faults: list[str] = field(default_factory=list)


def attack(count: int, seed: int) -> Kills:
    """Kill `count` command lines."""
    rng, found = random.Random(f"kills {seed}"), Kills()
    with tempfile.TemporaryDirectory(prefix="sojourn-kills-") as folder:
        work = Path(folder) / "work"  # fixed name, because manifests contain paths
        reference = cache(partial(_reference, work))
        for _ in range(count):
            name = rng.choice(list(LINES))
            files, took_s = reference(name)
            _kill_one(found, work, name, files, rng.uniform(0.1, 1.0) * took_s, rng.choice(SIGNALS))
    return found


def _reference(folder: Path, name: str) -> tuple[dict[str, str], float]:
    """Digests of the files that a command line writes, and its duration in s."""
    _prepare(folder)
    began = time.monotonic()
    code, stderr = _finish(_start(folder, LINES[name]))
    if code != 0:
        raise RuntimeError(f"{LINES[name]} ends with {code}: {stderr}")
    return _digests(folder / "out"), time.monotonic() - began


def _kill_one(
    found: Kills, folder: Path, name: str, files: dict[str, str], after_s: float, how: signal.Signals
) -> None:
    _prepare(folder)
    run = _start(folder, LINES[name])
    try:
        run.wait(after_s)
    except subprocess.TimeoutExpired:
        run.send_signal(how)
    code, stderr = _finish(run)
    notes = (folder / "notes").read_bytes() if (folder / "notes").exists() else b""
    found.count += 1
    place = f"{name}, {how.name} after {after_s:.3f} s ({notes.decode()})"
    found.too_late += code == 0
    if code != 0:
        found.in_a_run += notes.count(b"b") > notes.count(b"e")
        found.in_storing += notes.count(b"e") > notes.count(b"s")
    if code not in (0, 130, -how):
        found.faults.append(f"{place}: ended with {code}: {stderr[-300:]}")
    if "Traceback" in stderr:
        found.faults.append(f"{place}: traceback: {stderr[-300:]}")
    found.faults += _partial_files(place, files, _digests(folder / "out"))
    if how != signal.SIGKILL and code == 130 and (left := _hidden(folder / "out")):
        found.faults.append(f"{place}: left {left}")
    found.faults += _rerun_faults(place, folder, LINES[name], files)


def _partial_files(place: str, files: dict[str, str], there: dict[str, str]) -> list[str]:
    """Faults in the files left by a killed command."""
    faults = []
    for path, digest in there.items():
        if files.get(path) != digest:
            faults.append(f"{place}: half-written: {path}")
    for result in {path.split("/")[0] for path in there if "/" in path}:
        if lacking := [path for path in files if path.startswith(f"{result}/") and path not in there]:
            faults.append(f"{place}: half a result: {lacking}")
    return faults


def _rerun_faults(place: str, folder: Path, words: list[str], files: dict[str, str]) -> list[str]:
    """Faults when the same command is rerun."""
    faults = []
    code, stderr = _finish(_start(folder, words))
    if code != 0:
        faults.append(f"{place}: does not go on: {code}: {stderr[-300:]}")
    if (again := _digests(folder / "out")) != files:
        differing = sorted(path for path in again.keys() | files.keys() if again.get(path) != files.get(path))
        faults.append(f"{place}: differs after going on: {differing}")
    if left := _hidden(folder / "out"):
        faults.append(f"{place}: left after going on: {left}")
    return faults


def _prepare(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "study.toml").write_text(SCENARIO + STUDY)
    (folder / "own.toml").write_text(SCENARIO.replace("60 s", "8 s") + OWN)
    (folder / "one.toml").write_text(SCENARIO.replace("60 s", "360 s"))
    (folder / "mine.py").write_bytes(FILES["mine.py"])


def _start(folder: Path, words: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "attack.marked", "notes", *words]
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=folder, env=environment(), text=True, **streams)


def _finish(run: subprocess.Popen[str]) -> tuple[int, str]:
    _, stderr = run.communicate()
    return run.returncode, stderr


def _digests(folder: Path) -> dict[str, str]:
    """Digests of all files that are not hidden."""
    paths = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    names = {str(path.relative_to(folder)): path for path in paths}
    seen = {name: path for name, path in names.items() if not any(part.startswith(".") for part in Path(name).parts)}
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in seen.items()}


def _hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.glob(".*") if path.name != ORDER] if folder.is_dir() else []
