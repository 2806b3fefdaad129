"""Execution of a command's runs: on this machine, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn.apps.cli import options

if TYPE_CHECKING:
    from sojourn.base.progress import Progress
    from sojourn.studies.runs.runner import Runner


@contextmanager
def opened(
    out: Path, jobs: int | None, merge: Sequence[Path] = (), dask: str | None = None, progress: Progress | bool = False
) -> Iterator[Runner]:
    """Yield a runner that stores its runs in `out`; with a scheduler's address the runs are done by its cluster."""
    from sojourn.studies.runs.runner import Runner

    if dask and jobs:
        raise click.UsageError(
            "--jobs applies to this machine only; with --dask the workers limit the number of parallel runs"
        )
    runner = Runner(out, jobs, merge=merge, command=options.command_line(), progress=progress)
    if not dask:
        yield runner
        return
    from sojourn.studies.runs.cluster import cluster

    with cluster(dask) as (executor, watch):
        yield replace(runner, executor=executor, watch=watch)
