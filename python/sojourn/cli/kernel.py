"""`sojourn kernel`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn.cli import options

if TYPE_CHECKING:
    from sojourn.kernel.build import Progress


@click.group("kernel")
def command() -> None:
    """Build the real Linux kernel for simulated time, and hold our queue managers against its own."""


@command.command("build")
@click.option("--version", default="6.1", show_default=True, metavar="V", help="Linux 6.1 or 6.12.")
@click.option("--cache", type=click.Path(path_type=Path), metavar="DIR", help="Folder of kernels [the user's cache].")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Compilers at the same time [all cores].")
@options.as_json
def build_command(version: str, cache: Path | None, jobs: int | None, as_json: bool) -> None:
    """Fetch, patch, configure, build and try a kernel; nothing is installed and no root is needed.

    The source comes from the machine's package manager. A build that was interrupted goes on where it stopped; a
    finished kernel is not built again. $SOJOURN_KERNEL names another folder than the cache for all commands.
    """
    from sojourn.cli import output
    from sojourn.kernel.build import build
    from sojourn.kernel.cache import root

    began = time.monotonic()
    with _progress() as report:
        kernel = build(version, root(cache), jobs=jobs, progress=report)
    if as_json:
        about = {"linux": kernel.version, "digest": kernel.digest, "folder": str(kernel.image.parent)}
        output.print_json(about | {"seconds": round(time.monotonic() - began, 1)})
        return
    click.echo(f"Linux {kernel.version} in simulated time, build {kernel.digest}: {kernel.image.parent}")


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on a terminal, else a line for each step."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda share, what: bar.update(task, completed=share, description=what[:60])


class _Lines:
    def __init__(self) -> None:
        self.last = ""

    def __call__(self, _share: float, what: str) -> None:
        step = what.split(" ")[0]
        if step != self.last:
            self.last = step
            print(what, file=sys.stderr, flush=True)
