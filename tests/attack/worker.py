"""A process that runs cases in itself, one after the other, and says what became of each; it may die of one.

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
from attack.ended import in_a_process
from attack.judge import judge
from attack.possible import fingerprints

FORKING = ("link", "delay", "loss", "mm-link", "mm-delay", "mm-loss", "mm-onoff", "mm-intermittent", "doctor")
TWICE = ("graphs", "changes", "nested texts")
"""Families whose runs are made twice, with equal fingerprints."""
LONGEST_RUN_S = 1.5
"""A run that was drawn to take longer is stopped as Ctrl-C would: mutation finds units, not patience."""
MOST_RUNS = 1000
"""A study that was drawn to have more of them is stopped before the first."""
MOST_MEMORY = 6 << 30
"""Bytes of address space: what asks for more ends in an error or an abort."""


def main(seed: int, first: int, last: int, stored: Path) -> None:
    """Run cases `first` to `last`."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _stop_long_runs()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for number in range(first, last):
        print(number, "begin", file=answers, flush=True)
        print(json.dumps(run(case(seed, number, stored))), file=answers, flush=True)


def run(one: Case) -> dict[str, Any]:
    """What became of a case."""
    from click.testing import CliRunner

    from sojourn.apps.cli import cli

    folder = Path(tempfile.mkdtemp(prefix="sojourn-attack-"))
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    try:
        for name, data in one.files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
        os.chdir(folder)
        if (runner := RUNNERS.get(one.family)) is not None:
            result: Any = runner(one.words)
        elif one.words[:1] and one.words[0] in FORKING:  # a process with threads must not
            result = in_a_process([sys.executable, "-m", "sojourn", *one.words])
        else:
            result = CliRunner().invoke(cli, one.words)
        faults = judge(one, result, folder)
        if result.exit_code == 0 and one.family in TWICE and one.words[0] == "run":
            CliRunner().invoke(cli, ["again" if word == "out" else word for word in one.words])
            if fingerprints(folder / "out") != (again := fingerprints(folder / "again")) and again:
                faults.append(f"another run of it is {again}")
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if grown > 1 << 20:
        faults.append(f"took {grown >> 10} MiB")
    about = {"number": one.number, "family": one.family, "runs": one.runs, "code": result.exit_code}
    return about | {"faults": faults, "words": one.words, "s": round(time.monotonic() - began, 3)}


def _stop_long_runs() -> None:
    from sojourn import engines
    from sojourn.studies.runs.runner import Run, Runner

    run_once, run_many = engines.run, Runner.__call__

    def stopped(scenario: Any, seed: int, engine: str, progress: Any = None) -> Any:
        until = time.monotonic() + LONGEST_RUN_S

        def tick(share: float) -> None:
            if time.monotonic() > until:
                raise KeyboardInterrupt
            if progress:
                progress(share)

        return run_once(scenario, seed, engine, tick)

    def few(runner: Runner, runs: Sequence[Run]) -> Any:
        if len(runs) > MOST_RUNS:
            raise KeyboardInterrupt
        return run_many(runner, runs)

    engines.run = stopped  # type: ignore[assignment]
    Runner.__call__ = few  # type: ignore[method-assign]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
