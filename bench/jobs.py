"""Speedup of a second job: `make bench-jobs`.

One job and two jobs do the same runs in turn, and the medians over all rounds are printed. The speedup is the time
with one job divided by that with two; on two idle cores only waiting keeps it below 2. On busy cores it means nothing,
so two more numbers are printed: the ratio of CPU time per run (above 1 the jobs spin or compete for caches), and the
voluntary context switches per run, e.g. of a thread that waits for a lock such as Python's GIL.
"""

from __future__ import annotations

import os
import resource
import statistics
import tempfile
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import sojourn as sj
from sojourn.studies.runs.runner import Run, Runner

ROUNDS = 7


@dataclass(frozen=True)
class Load:
    """Runs that differ only in their seeds."""

    name: str
    duration: str
    runs: int
    stored: bool = False

    def all(self) -> list[Run]:
        """Return one run per seed."""
        sets = {"duration": self.duration, "warmup": "0 s", "link.rate": "10 Mbit/s"}
        scenario = sj.Scenario.load(Path(__file__).parent.parent / "scenarios" / "codel.toml", sets)
        return [Run(scenario, seed) for seed in range(1, self.runs + 1)]


LOADS = [
    Load("long runs", "300 s", 8),
    Load("short runs", "1 s", 400),
    Load("short runs, stored", "1 s", 400, stored=True),
]


@dataclass(frozen=True)
class Usage:
    """Resources used by the runs of a load."""

    wall_s: float
    cpu_s: float
    waits: int


def measure(runs: list[Run], jobs: int, root: Path | None) -> Usage:
    """Do the runs with `jobs` jobs, stored in `root` if given."""
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    Runner(root, jobs=jobs, progress=False)(runs)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Usage(wall, cpu, after.ru_nvcsw - before.ru_nvcsw)


def row(load: Load, folder: Path) -> str:
    """Return a line of the table. Each round has its own folder: ext4 is slow to write after many deletions."""
    runs = load.all()
    places = (folder / str(number) if load.stored else None for number in count())
    measure(runs[:2], 2, next(places))  # warm up imports and caches
    rounds = [(measure(runs, 1, next(places)), measure(runs, 2, next(places))) for _ in range(ROUNDS)]
    gain = statistics.median(one.wall_s / two.wall_s for one, two in rounds)
    more = statistics.median(two.cpu_s / one.cpu_s for one, two in rounds)
    each = statistics.median(one.cpu_s for one, _ in rounds) / len(runs) * 1e3
    waits = [statistics.median(usage.waits for usage in of) / len(runs) for of in zip(*rounds, strict=True)]
    return f"| {load.name} | {len(runs)} | {each:.2f} | {gain:.2f} | {more:.2f} | {waits[0]:.1f} | {waits[1]:.1f} |"


def main() -> None:
    """Print a row for each load."""
    if len(os.sched_getaffinity(0)) < 2:
        print("skipped: two jobs, because there is one core")
        return
    print("| load | runs | CPU ms per run | gain of a second job | CPU, two by one | waits per run, one job | two |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for load in LOADS:
            print(row(load, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
