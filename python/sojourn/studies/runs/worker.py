"""Runs in other processes.

`python -m sojourn.runs.worker PARENT` is a process for queue managers in Python, which run one at a time per process,
for those in shared libraries, which may crash, and for runs that may exhaust memory: it reads runs from its standard
input, and writes progress and results to its standard output, pickled. It ends at end of input, or within a second
after its parent, even if a queue manager hangs. The program's own main module is never loaded in it.

`do_tasks` is for processes started by others, perhaps on other machines: an executor calls it.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

from sojourn import _core
from sojourn.base.errors import INTERRUPTED, AqmError, InputError, MissingError, OutOfMemoryError, error_line
from sojourn.base.files import remove_unfinished
from sojourn.base.frames import Columns
from sojourn.base.guard import LIBRARY_CRASH, is_out_of_memory
from sojourn.model.aqms.spelling import in_files
from sojourn.model.results.result import Result
from sojourn.model.results.tables import of_columns
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.runs import store


class Worker:
    """A process that does one run after another."""

    def __init__(self, *, may_end: bool = False, extra: Mapping[str, str] | None = None) -> None:
        """With `may_end` a library may crash the process: its stderr is kept, and printed by `stop`.

        `extra` is added to the environment.
        """
        path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
        command, pipe = [sys.executable, "-m", "sojourn.studies.runs.worker", str(os.getpid())], subprocess.PIPE
        self._noise = tempfile.TemporaryFile() if may_end else None  # noqa: SIM115 (open as long as the process)
        env = {**os.environ, "PYTHONPATH": path, **(extra or {})}
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._noise, env=env)

    def do(
        self, scenario: Scenario, seed: int, root: Path | None, command: list[str], tick: Callable[[float], None]
    ) -> Result:
        """Do a run, and store it under `root` if given; exceptions of the process are raised here."""
        try:
            pickle.dump((scenario.canonical, seed, root, command), self._process.stdin)  # type: ignore[arg-type]
            self._process.stdin.flush()  # type: ignore[union-attr]
            while True:
                kind, content = pickle.load(self._process.stdout)  # type: ignore[arg-type]
                if kind != "progress":
                    break
                tick(content)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            status = self._process.wait()
            if named := self._named():
                raise AqmError(named) from None
            if names := ", ".join(scenario.user_code()):
                raise AqmError(f"{names}: its process died with status {status}") from None
            how = signal.Signals(-status).name if status < 0 else f"status {status}"
            raise OutOfMemoryError(f"its process exited with {how}") from None
        if kind == "stored":
            return store.load(content)
        if kind == "result":
            return result_of(scenario, seed, content)
        error, text = content
        if isinstance(error, MemoryError):
            raise OutOfMemoryError(f"its process had no memory left{f' ({error})' if str(error) else ''}") from None
        raise error from _WorkerTraceback(text)

    def _named(self) -> str | None:
        """The library that crashed the process, and how, in the core's words."""
        line = LIBRARY_CRASH.search(self._errors())
        return line[1].decode(errors="replace") if line else None

    def _errors(self) -> bytes:
        if self._noise is None:
            return b""
        self._noise.seek(0)
        return self._noise.read()

    def stop(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()
        if self._noise is not None:
            errors = LIBRARY_CRASH.sub(b"", self._errors())  # raised as an error instead
            self._noise.close()
            with suppress(OSError):
                os.write(2, errors)
        with suppress(BrokenPipeError):  # flushing input that a dead process has not read
            self._process.stdin.close()  # type: ignore[union-attr]
        self._process.stdout.close()  # type: ignore[union-attr]


@dataclass(frozen=True)
class Task:
    """A run for a process that shares nothing with this one but the files that the scenario names."""

    canonical: str
    seed: int
    name: str
    """Hash of the run; the other process checks that it would do the same run."""
    version: str


Answer: TypeAlias = "tuple[dict[str, Any], dict[str, Columns]]"
"""Summary and tables of a run."""
BATCH_S = 0.2
"""Time in seconds after which a process answers with the finished runs of a batch."""


def task(scenario: Scenario, seed: int) -> Task:
    """A run as a task; raises `InputError` if another process cannot do it."""
    names = scenario.user_code()
    if not in_files(names):
        raise InputError(f"{', '.join(names)}: defined in this program only; move the class into a file of its own")
    return Task(scenario.canonical, seed, store.run_hash(scenario, seed), _core.version())


def do_tasks(tasks: Sequence[Task]) -> bytes:
    """Do runs in the current process, in order: the first one, then others until `BATCH_S` is over.

    An error of the first is raised; one of another ends the batch before it. `answers_of` reads the outcome: Dask
    would send each of its arrays on its own, which takes longer than a short run.
    """
    end = time.monotonic() + BATCH_S
    answers = [_do_task(tasks[0])]
    for task in tasks[1:]:
        if time.monotonic() >= end:
            break
        try:
            answers.append(_do_task(task))
        except Exception:
            break
    return pickle.dumps(answers)


def answers_of(outcome: bytes) -> list[Answer]:
    """The answers of `do_tasks`, one per finished run."""
    found: list[Answer] = pickle.loads(outcome)
    return found


def _do_task(task: Task) -> Answer:
    if task.version != _core.version():
        raise MissingError(
            f"a worker has sojourn {_core.version()}, this program {task.version}; install the same version there"
        )
    scenario = Scenario(task.canonical)
    if store.run_hash(scenario, task.seed) != task.name:
        files = ", ".join([*(str(path) for path in scenario.traces()), *scenario.user_code()])
        raise InputError(f"{files}: a worker has another version of it; copy the files there")
    return _answer(scenario.run(task.seed))


def result_of(scenario: Scenario, seed: int, answer: Answer) -> Result:
    """Result sent by another process."""
    totals, tables = answer
    return Result(scenario, seed, totals, of_columns(tables))


class _WorkerTraceback(Exception):  # noqa: N818
    """Traceback of an exception in a worker."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def main() -> None:
    """Do runs until the end of input."""
    signal.signal(signal.SIGINT, _interrupt)
    # A process that starts while Ctrl-C ends its parent gets no signal.
    threading.Thread(target=_end_after, args=(int(sys.argv[1]),), daemon=True).start()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of a queue manager must not mix with the answers

    def send(kind: str, content: object) -> None:
        pickle.dump((kind, content), answers)
        answers.flush()

    while True:
        try:
            task = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            canonical, seed, root, command = task
            send(*_do(canonical, seed, root, command, lambda share: send("progress", share)))
        except BrokenPipeError:
            return
        except BaseException as error:
            is_lost = isinstance(error, OutOfMemoryError)  # its message already says what did not fit
            raised = MemoryError(error_line(error)) if not is_lost and is_out_of_memory(error) else error
            send("raised", (raised, traceback.format_exc()))


def _end_after(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_S)
    _interrupt(signal.SIGINT, None)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    """Exit at once and leave no partial files."""
    try:
        remove_unfinished()
    finally:
        os._exit(INTERRUPTED)


def _do(
    canonical: str, seed: int, root: Path | None, command: list[str], tick: Callable[[float], None]
) -> tuple[str, Any]:
    scenario = Scenario(canonical)
    if root:
        return "stored", store.run(scenario, seed, root, command, tick).folder
    return "result", _answer(scenario.run(seed, progress=tick))


def _answer(result: Result) -> Answer:
    return result.totals, {name: result.columns(name) for name in result.table_names}


LOOK_S = 0.5
"""Seconds between looks at the parent."""

if __name__ == "__main__":
    main()
