"""Runs cases in supervised processes: a case that aborts or hangs is reported, and a new process continues."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attack.scenarios import REPO

HANG_S = 60.0
"""Time without output after which a case hangs."""
BATCH = 500
"""Cases per process."""


Outcome = dict[str, Any]
"""Outcome of a case: number, family, words, exit code, faults."""


@dataclass
class Summary:
    """Outcomes of all cases."""

    outcomes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ran(self) -> int:
        """Number of valid cases that have run."""
        return sum(one["runs"] and one["code"] in (0, 1) for one in self.outcomes)

    @property
    def faults(self) -> list[dict[str, Any]]:
        """Outcomes with faults."""
        return [one for one in self.outcomes if one["faults"]]

    def table(self) -> Iterator[str]:
        """Lines of a table: number of cases and of outcomes, per family."""
        heads = {"ran": (0, 1), "refused": (2,), "machine": (3,), "stopped": (130,)}
        yield f"{'':26}" + "".join(f"{head:>10}" for head in ("inputs", "to run", *heads, "faults"))
        families = Counter(one["family"] for one in self.outcomes)
        for family, count in [*families.items(), ("all", len(self.outcomes))]:
            own = [one for one in self.outcomes if family in ("all", one["family"])]
            numbers = [count, sum(one["runs"] for one in own)]
            numbers += [sum(one["code"] in codes for one in own) for codes in heads.values()]
            numbers.append(sum(bool(one["faults"]) for one in own))
            yield f"{family:26}" + "".join(f"{number:10}" for number in numbers)


def attack(count: int, seed: int, jobs: int, report: Callable[[list[Outcome]], None] = lambda _new: None) -> Summary:
    """Run cases 0 to `count` of `seed`; `report` is called with each batch's outcomes."""
    summary = Summary()
    with tempfile.TemporaryDirectory(prefix="sojourn-attack-") as folder, ThreadPoolExecutor(jobs) as pool:
        stored = _stored(Path(folder))
        batches = [(first, min(first + BATCH, count)) for first in range(0, count, BATCH)]
        for outcomes in pool.map(lambda batch: list(_batch(seed, *batch, stored)), batches):
            summary.outcomes += outcomes
            report(outcomes)
    return summary


def _stored(folder: Path) -> Path:
    """Store a result with all probes, for cases that read one."""
    scenario = REPO / "scenarios" / "codel.toml"
    sets = ['duration="300 ms"', 'warmup="100 ms"', "probes.packets=true", "probes.headers=true"]
    sets += [f'probes.{name}="10 ms"' for name in ("queue", "flows", "state", "utilisation")]
    words = [word for text in sets for word in ("--set", text)]
    command = [sys.executable, "-m", "sojourn", "run", str(scenario), "-o", str(folder / "out"), *words]
    subprocess.run(command, check=True, capture_output=True)
    [stored] = (folder / "out").iterdir()
    return stored


def _batch(seed: int, first: int, last: int, stored: Path) -> Iterator[dict[str, Any]]:
    """Outcomes of a batch; after a case that ended its process, a new process continues."""
    while first < last:
        for outcome in _process(seed, first, last, stored):
            yield outcome
            first = outcome["number"] + 1


def _process(seed: int, first: int, last: int, stored: Path) -> Iterator[dict[str, Any]]:
    words = [sys.executable, "-m", "attack.worker", str(seed), str(first), str(last), str(stored)]
    env = environment() | {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with (
        tempfile.TemporaryFile() as stderr,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=stderr, env=env) as run,
    ):
        assert run.stdout is not None
        begun, at_work = first, False
        for line in _lines(run):
            if line.endswith("begin"):
                begun, at_work = int(line.split()[0]), True
            else:
                at_work = False
                yield json.loads(line)
        hangs = run.poll() is None
        run.kill()
        code = run.wait()
        stderr.seek(0)
        tail = stderr.read()[-600:].decode(errors="replace")
        if at_work or hangs or code:
            problem = "hangs" if hangs else f"aborts with {code}"
            about = {"number": begun, "family": "?", "runs": False, "code": code, "words": []}
            yield about | {"faults": [f"{problem}: {tail}"], "s": 0.0}


def environment() -> dict[str, str]:
    """Environment of the attack's processes."""
    paths = (str(REPO / "tests"), os.environ.get("PYTHONPATH", ""))
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _lines(run: subprocess.Popen[bytes]) -> Iterator[str]:
    """Lines of a process' output, until it ends or is silent for too long."""
    assert run.stdout is not None
    with selectors.DefaultSelector() as ready:
        ready.register(run.stdout, selectors.EVENT_READ)
        rest = b""
        while ready.select(HANG_S):
            data = os.read(run.stdout.fileno(), 1 << 16)
            if not data:
                run.wait()
                return
            *lines, rest = (rest + data).split(b"\n")
            yield from (line.decode() for line in lines)
