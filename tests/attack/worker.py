"""Worker process: runs cases in-process, one after the other, and reports each outcome; a case may crash it.

`python -m attack.worker SEED FIRST LAST STORED` writes `N begin` before a case and a line of JSON after it.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attack.cases import RUNNERS, Case, case
from attack.exits import run_process
from attack.invariants import fingerprints
from attack.judge import judge

FORKING = ("link", "delay", "loss", "mm-link", "mm-delay", "mm-loss", "mm-onoff", "mm-intermittent", "doctor")
TWICE = ("graphs", "changes", "nested texts")
"""Families whose runs are repeated, to compare fingerprints."""
MAX_RUN_S = 1.5
"""Longer runs are stopped as if by Ctrl-C, because mutation may change a duration's unit."""
MAX_RUNS = 1000
"""Studies with more runs are stopped before the first."""
MAX_MEMORY = 6 << 30
"""Limit of the address space in bytes: further allocations fail or abort."""


def main(seed: int, first: int, last: int, stored: Path) -> None:
    """Run cases `first` to `last`."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _stop_long_runs()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for number in range(first, last):
        print(number, "begin", file=answers, flush=True)
        print(json.dumps(run(case(seed, number, stored))), file=answers, flush=True)


def run(case: Case) -> dict[str, Any]:
    """Run a case and return its outcome."""
    from click.testing import CliRunner

    from sojourn.apps.cli import cli

    folder = Path(tempfile.mkdtemp(prefix="sojourn-attack-"))
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    try:
        for name, data in case.files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
        os.chdir(folder)
        if (runner := RUNNERS.get(case.family)) is not None:
            result: Any = runner(case.words)
        elif case.words[:1] and case.words[0] in FORKING:  # must not fork in a process with threads
            result = run_process([sys.executable, "-m", "sojourn", *case.words])
        else:
            result = CliRunner().invoke(cli, case.words)
        faults = judge(case, result, folder)
        if result.exit_code == 0 and case.family in TWICE and case.words[0] == "run":
            CliRunner().invoke(cli, ["again" if word == "out" else word for word in case.words])
            if fingerprints(folder / "out") != (again := fingerprints(folder / "again")) and again:
                faults.append(f"another run of it is {again}")
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if grown > 1 << 20:
        faults.append(f"took {grown >> 10} MiB")
    about = {"number": case.number, "family": case.family, "runs": case.runs, "code": result.exit_code}
    return about | {"faults": faults, "words": case.words, "s": round(time.monotonic() - began, 3)}


def _stop_long_runs() -> None:
    from sojourn import engines
    from sojourn.studies.runs.runner import Run, Runner

    run_once, run_many = engines.run, Runner.__call__

    def stopped(scenario: Any, seed: int, engine: str, progress: Any = None) -> Any:
        until = time.monotonic() + MAX_RUN_S

        def tick(share: float) -> None:
            if time.monotonic() > until:
                raise KeyboardInterrupt
            if progress:
                progress(share)

        return run_once(scenario, seed, engine, tick)

    def few(runner: Runner, runs: Sequence[Run]) -> Any:
        if len(runs) > MAX_RUNS:
            raise KeyboardInterrupt
        return run_many(runner, runs)

    engines.run = stopped  # type: ignore[assignment]
    Runner.__call__ = few  # type: ignore[method-assign]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
