"""Running many simulations on all cores; results come in the order of the runs, whatever the number of workers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import store, user_aqms
from sojourn.result import Result
from sojourn.scenario import Scenario

if TYPE_CHECKING:
    from sojourn.worker import Worker

Progress = Callable[[float, int, int], None]
"""Called with the share of work done (0 to 1), finished runs and all runs."""


@dataclass(frozen=True)
class Run:
    """One simulation to do."""

    scenario: Scenario
    seed: int


def run_all(
    runs: Sequence[Run],
    root: Path | None = None,
    *,
    jobs: int | None = None,
    command: Sequence[str] = (),
    progress: Progress | None = None,
) -> list[Result]:
    """Do all runs; with `root`, finished ones found there are read instead and new ones are stored there."""
    user_aqms.refuse_while_loading()
    unique = list(dict.fromkeys(runs))
    batch = _Batch(root, list(command), several=len(unique) > 1)
    with ThreadPoolExecutor(max(1, min(jobs or cores(), len(unique)))) as pool:
        futures = {run: pool.submit(batch.do, run) for run in unique}
        try:
            _await(list(futures.values()), batch, progress)
        except BaseException:
            batch.stop.set()  # workers look at it every few events
            for future in futures.values():
                future.cancel()
            raise
        finally:
            batch.close()
    return [futures[run].result() for run in runs]


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Batch:
    """What the workers share."""

    def __init__(self, root: Path | None, command: list[str], *, several: bool) -> None:
        self.root = root
        self.command = command
        self.several = several
        self.stop = threading.Event()
        self.shares: dict[Run, float] = {}
        self.workers: list[Worker] = []
        self.idle: list[Worker] = []

    def do(self, run: Run) -> Result:
        result = store.find(run.scenario, run.seed, self.root) if self.root else None
        if result:
            result.found = True
        else:
            result = self._do(run, lambda share: self._tick(run, share))
        self.shares[run] = 1.0
        return result

    def close(self) -> None:
        """End the processes."""
        for worker in self.workers:
            worker.stop()

    def _do(self, run: Run, tick: Callable[[float], None]) -> Result:
        """Run in this process, or in one of its own where only one can run queue managers in Python."""
        names = run.scenario.user_aqms()
        if self.several and names and user_aqms.in_files(names):
            worker = self._worker()
            result = worker.do(run.scenario, run.seed, self.root, self.command, tick)
            self.idle.append(worker)
            return result
        result = run.scenario.run(run.seed, progress=tick)
        return store.save(result, self.root, self.command) if self.root else result

    def _worker(self) -> Worker:
        with suppress(IndexError):
            return self.idle.pop()
        from sojourn.worker import Worker

        worker = Worker()
        self.workers.append(worker)
        return worker

    def _tick(self, run: Run, share: float) -> None:
        if self.stop.is_set():
            raise KeyboardInterrupt
        self.shares[run] = share


def _await(futures: list[Future[Result]], batch: _Batch, progress: Progress | None) -> None:
    """Wait in short steps, so that Ctrl-C is seen at once; raise what a worker raised first."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=0.05, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
        if progress:
            share = sum(list(batch.shares.values())) / len(futures)
            progress(share, len(futures) - len(pending), len(futures))
