"""What a second job gains: `make bench-jobs`.

The same runs are done by one job and by two, round after round, and the medians of the rounds are printed. The gain is
the time with one job by that with two; on a machine with two idle cores nothing but what the jobs wait for keeps it
below 2. Where others use the cores it says nothing, so two numbers stand beside it: the CPU time of a run with two jobs
by that with one (above 1 they spin, or take each other's caches), and how often a run gave its core up, as a
thread that waits for a lock does, Python's own among them.
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
    """Runs that are alike but for their seeds."""

    name: str
    duration: str
    runs: int
    stored: bool = False

    def all(self) -> list[Run]:
        """Return the runs."""
        sets = {"duration": self.duration, "warmup": "0 s", "link.rate": "10 Mbit/s"}
        scenario = sj.Scenario.load(Path(__file__).parent.parent / "scenarios" / "codel.toml", sets)
        return [Run(scenario, seed) for seed in range(1, self.runs + 1)]


LOADS = [
    Load("long runs", "300 s", 8),
    Load("short runs", "1 s", 400),
    Load("short runs, stored", "1 s", 400, stored=True),
]


@dataclass(frozen=True)
class Spent:
    """What the runs of a load took."""

    wall_s: float
    cpu_s: float
    waits: int


def spent(runs: list[Run], jobs: int, root: Path | None) -> Spent:
    """Do the runs with so many jobs; they are kept in `root`, if it is given."""
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    Runner(root, jobs=jobs, progress=False)(runs)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(wall, cpu, after.ru_nvcsw - before.ru_nvcsw)


def row(load: Load, folder: Path) -> str:
    """Return a line of the table. Every round has a folder of its own: ext4 is slow to write where much was deleted."""
    runs = load.all()
    places = (folder / str(number) if load.stored else None for number in count())
    spent(runs[:2], 2, next(places))  # what is loaded once is loaded
    rounds = [(spent(runs, 1, next(places)), spent(runs, 2, next(places))) for _ in range(ROUNDS)]
    gain = statistics.median(one.wall_s / two.wall_s for one, two in rounds)
    more = statistics.median(two.cpu_s / one.cpu_s for one, two in rounds)
    each = statistics.median(one.cpu_s for one, _ in rounds) / len(runs) * 1e3
    waits = [statistics.median(spent.waits for spent in of) / len(runs) for of in zip(*rounds, strict=True)]
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
