"""Runs many simulations on all cores; results are in the order of the runs, for any number of workers."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import engines
from sojourn.base import memory
from sojourn.base.errors import InputError, MissingError, OutOfMemoryError
from sojourn.base.files import check_writable, remove_stale
from sojourn.base.notebook import progress_callback
from sojourn.base.progress import Progress, print_line
from sojourn.model.aqms.loading import refuse_while_loading
from sojourn.model.aqms.spelling import in_files, is_library
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.runs import store
from sojourn.studies.runs.worker import Worker, answers_of, do_tasks, result_of, task

if TYPE_CHECKING:
    from sojourn.studies.runs.worker import Answer, Worker


LOOK_S = 0.05
"""Polling interval of the workers' state, in seconds."""
MORE_MEMORY = "raise the limit, run fewer jobs at once (--jobs 1), or record less ([probes])"
BATCHES = 64
"""Minimum number of tasks for an executor, unless there are fewer runs, so that as many workers begin at once."""
MAX_BATCH = 32
"""Maximum number of runs in a task of an executor, whose overhead is several short runs."""
WATCH_S = 2.0
"""Interval between calls of `Runner.watch`, in seconds."""


@dataclass(frozen=True)
class Run:
    """One run to do."""

    scenario: Scenario
    seed: int
    engine: str = engines.SIMULATE

    @property
    def identity(self) -> str:
        """Name of the engine in the hash."""
        return engines.identity(self.engine, self.scenario)


@dataclass
class Runner:
    """Does runs and caches results: what a runner has done or found is not repeated."""

    root: Path | None = None
    """Folder of results: finished runs found there are read instead of computed, new ones are stored there."""
    jobs: int | None = None
    """Concurrent runs in this process; default: all cores."""
    executor: Executor | None = None
    """Executes the runs instead of this process; only numbers are returned, and this process stores them."""
    merge: Sequence[Path] = ()
    """Other folders of results; finished runs are copied from there to `root`."""
    command: Sequence[str] = ()
    """Command line, for the manifests."""
    progress: Progress | bool | None = None
    """Progress callback; True shows a progress bar (the default in a notebook), False none."""
    watch: Callable[[], None] | None = None
    """Called regularly while an executor works; raises if it has failed."""
    done: dict[Run, Result] = field(default_factory=dict)
    computed: list[Run] = field(default_factory=list)
    """Runs computed rather than found or cached, in any order."""
    keeps_going: bool = False
    """Whether runs that ran out of memory are left out of the results; otherwise they raise an error at the end."""
    lost: dict[Run, str] = field(default_factory=dict)
    """Runs that ran out of memory, and how."""
    adopted: list[Run] = field(default_factory=list)
    """Runs copied from the folders `merge`, in any order."""

    def __post_init__(self) -> None:
        if self.executor is not None and self.jobs is not None:
            raise InputError("jobs: the executor limits the number of parallel runs; leave out one of them")
        if self.merge and self.root is None:
            raise InputError("merge: the runs found need a folder; give one")
        if self.root is not None:
            remove_stale(self.root)

    def __call__(self, runs: Sequence[Run]) -> list[Result]:
        """Do all runs."""
        refuse_while_loading()
        missing = [run for run in dict.fromkeys(runs) if run not in self.done]
        with progress_callback(self.progress) as progress:
            if self.executor is None:
                self._do_here(missing, progress)
            else:
                self._do_elsewhere(missing, self.executor, progress)
        if self.lost and not (self.keeps_going and self.done):
            raise MissingError(self._about_lost(len(missing)))
        return [self.done[run] for run in runs if run in self.done]

    def _about_lost(self, of: int) -> str:
        how = next(iter(self.lost.values()))
        if of == 1:
            return f"out of memory: {how}; {MORE_MEMORY}"
        lost = f"{len(self.lost)} of {of} runs were lost, the first as {how}"
        return f"out of memory: {lost}; the others are kept; {MORE_MEMORY}"

    def find(self, run: Run) -> Result | None:
        """Find a finished run in the folder of results or in a folder to merge."""
        if self.root is None:
            return None
        if found := store.find(run.scenario, run.seed, self.root, run.identity):
            return found
        if found := store.adopt(run.scenario, run.seed, self.merge, self.root, run.identity):
            self.adopted.append(run)
        return found

    def _do_here(self, runs: list[Run], progress: Progress | None) -> None:
        in_libraries = any(is_library(name) for run in runs for name in run.scenario.user_code())
        batch = _Batch(self, several=len(runs) > 1, in_libraries=in_libraries)
        at_a_time = max(1, min(self.jobs or cores(), len(runs)))
        batch.tell_need(runs, at_a_time, progress)
        with ThreadPoolExecutor(at_a_time) as pool:
            futures = {run: pool.submit(batch.do, run) for run in runs}
            try:
                _await(list(futures.values()), batch, progress)
            except BaseException:
                batch.stop.set()  # workers check the flag every few events
                for future in futures.values():
                    future.cancel()
                raise
            finally:
                batch.close()
        self.done |= {run: result for run, future in futures.items() if (result := future.result())}

    def _do_elsewhere(self, runs: list[Run], executor: Executor, progress: Progress | None) -> None:
        missing = []
        if other := next((run.engine for run in runs if run.engine != engines.SIMULATE), None):
            raise InputError(f"engine {other}: runs on this machine only; leave out the executor")
        for run in runs:
            if found := self.find(run):
                self.done[run] = found
            else:
                missing.append(run)
        if missing and self.root is not None:
            check_writable(self.root)
        batches = _Batches(executor)
        try:
            batches.submit(missing, max(1, min(MAX_BATCH, len(missing) // BATCHES)))
            self._collect(batches, len(runs), progress)
        finally:
            batches.cancel()

    def _collect(self, batches: _Batches, total: int, progress: Progress | None) -> None:
        """Store each answer on arrival, so that an interrupted study keeps finished runs."""
        due = time.monotonic() + WATCH_S
        while batches.left:
            for run, answer in batches.take(LOOK_S):
                result = result_of(run.scenario, run.seed, answer)
                self.done[run] = store.save(result, self.root, list(self.command)) if self.root else result
                self.computed.append(run)
            if progress:
                progress(1 - batches.left / total, total - batches.left, total)
            if self.watch and time.monotonic() >= due:
                self.watch()
                due = time.monotonic() + WATCH_S


def run_all(
    runs: Sequence[Run],
    root: Path | None = None,
    *,
    jobs: int | None = None,
    command: Sequence[str] = (),
    progress: Progress | bool | None = None,
) -> list[Result]:
    """Do all runs; with `root`, finished ones found there are read instead and new ones are stored there."""
    return Runner(root, jobs=jobs, command=command, progress=progress)(runs)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Batches:
    """Batches of runs at an executor."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._pending: dict[Future[bytes], list[Run]] = {}

    @property
    def left(self) -> int:
        """Number of submitted runs without an answer."""
        return sum(map(len, self._pending.values()))

    def submit(self, runs: Sequence[Run], size: int) -> None:
        """Submit runs in batches of at most `size`."""
        for start in range(0, len(runs), size):
            batch = list(runs[start : start + size])
            tasks = [task(run.scenario, run.seed) for run in batch]
            self._pending[self._executor.submit(do_tasks, tasks)] = batch

    def take(self, seconds: float) -> Iterator[tuple[Run, Answer]]:
        """Answers of finished batches, waiting at most `seconds` for the first.

        Runs that a batch had no time for are submitted alone: they are long.
        """
        finished, _ = wait(self._pending, timeout=seconds, return_when=FIRST_COMPLETED)
        for future in finished:
            batch = self._pending.pop(future)
            answers = answers_of(future.result())
            self.submit(batch[len(answers) :], 1)
            yield from zip(batch, answers, strict=False)

    def cancel(self) -> None:
        """Cancel batches that have not started."""
        for future in self._pending:
            future.cancel()


class _Batch:
    """State shared by the workers of this process."""

    def __init__(self, runner: Runner, *, several: bool, in_libraries: bool) -> None:
        self.runner = runner
        self.several = several
        self.in_libraries = in_libraries
        self.stop = threading.Event()
        self.shares: dict[Run, float] = {}
        self.workers: list[Worker] = []
        self.idle: list[Worker] = []
        self._starting = threading.Lock()

    def do(self, run: Run) -> Result | None:
        """Find or do a run; None if it ran out of memory."""
        result = self.runner.find(run)
        if result:
            result.found = True
        else:
            try:
                result = self._do(run, lambda share: self._tick(run, share))
            except OutOfMemoryError as error:
                self.runner.lost[run] = str(error)
        self.shares[run] = 1.0
        return result

    def tell_need(self, runs: list[Run], at_a_time: int, progress: Progress | None) -> None:
        """Report the memory that the runs need before they start, if it is much."""
        need = at_a_time * max((self._need(run) for run in runs), default=0)
        if need > memory.ANNOUNCED_BYTES:
            left = memory.free()
            free = "" if left is None else f"; {memory.format_bytes(left)} are free"
            together = f", {at_a_time} at a time" if at_a_time > 1 else ""
            print_line(progress, f"Memory needed: up to {memory.format_bytes(need)}{together}{free}")

    def close(self) -> None:
        """Stop the processes, and remove partial results of lost ones; no process is started any more."""
        with self._starting:
            self.stop.set()
        for worker in self.workers:
            worker.stop()
        if self.workers and self.runner.root:
            remove_stale(self.runner.root)

    def _do(self, run: Run, tick: Callable[[float], None]) -> Result:
        """Run in this process, or in a separate one if queue managers in Python need it."""
        root, command = self.runner.root, list(self.runner.command)
        if root:
            check_writable(root)
        self.runner.computed.append(run)
        names = run.scenario.user_code()
        in_library = run.engine == engines.SIMULATE and any(map(is_library, names))
        if in_files(names) and ((self.several and names) or in_library or self._may_be_lost(run)):
            worker = self._worker()
            result = worker.do(run.scenario, run.seed, root, command, tick)
            self.idle.append(worker)
            return result
        if root:
            return store.run(run.scenario, run.seed, root, command, tick, run.engine)
        return run.scenario.run(run.seed, progress=tick, engine=run.engine)

    def _may_be_lost(self, run: Run) -> bool:
        """Whether a run might exhaust the memory of its process."""
        if run.engine != engines.SIMULATE:
            return False
        return memory.address_limit() is not None or self._need(run) > memory.ANNOUNCED_BYTES

    def _need(self, run: Run) -> int:
        """Maximum memory of a run in bytes; 0 on another engine, which keeps its packets elsewhere."""
        if run.engine != engines.SIMULATE:
            return 0
        of_run, of_rows = run.scenario.need
        return of_run if self.runner.root else of_run + of_rows

    def _worker(self) -> Worker:
        with suppress(IndexError):
            return self.idle.pop()
        # A thread may get here while Ctrl-C ends the batch.
        with self._starting:
            if self.stop.is_set():
                raise KeyboardInterrupt
            worker = Worker(may_end=self.in_libraries)
            self.workers.append(worker)
        return worker

    def _tick(self, run: Run, share: float) -> None:
        if self.stop.is_set():
            raise KeyboardInterrupt
        self.shares[run] = share


def _await(futures: list[Future[Result | None]], batch: _Batch, progress: Progress | None) -> None:
    """Wait in short steps, so that Ctrl-C takes effect at once; re-raise the first error of a worker."""
    ends = _CompletionQueue(futures)
    done = 0
    while done < len(futures):
        ends.wake.wait(LOOK_S)
        for future in ends.take():
            future.result()
            done += 1
        if progress:
            progress(sum(list(batch.shares.values())) / len(futures), done, len(futures))


class _CompletionQueue:
    """Queue of finished runs, filled by callbacks: polling many futures each time would be slow."""

    def __init__(self, futures: Sequence[Future[Result | None]]) -> None:
        self._left = len(futures)
        self._ended: list[Future[Result | None]] = []
        self._lock = threading.Lock()
        self.wake = threading.Event()
        """Set when all have ended, or one has failed."""
        for future in futures:
            future.add_done_callback(self._note)

    def take(self) -> list[Future[Result | None]]:
        """Return the runs that finished since the last call."""
        with self._lock:
            taken, self._ended = self._ended, []
        return taken

    def _note(self, future: Future[Result | None]) -> None:
        with self._lock:
            self._ended.append(future)
            self._left -= 1
            if self._left == 0 or future.cancelled() or future.exception() is not None:
                self.wake.set()
