"""Progress on stderr: a bar on a terminal, otherwise a line every few seconds; nothing in the first second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

Progress = Callable[[float, int, int], None]
"""Called with the fraction done (0 to 1), the finished and the total number of runs."""
Steps = Callable[[float, str], None]
"""Called with the fraction done and the name of the current step."""
FIRST_S = 1.0
"""Delay before progress is shown."""
EVERY_S = 5.0
"""Interval between lines if stderr is no terminal."""


@contextmanager
def progress(unit: str = "runs") -> Iterator[Progress]:
    """Yield a callback that shows the progress of runs, or of another unit."""
    reporter = _Reporter(sys.stderr.isatty(), unit)
    try:
        yield reporter
    finally:
        reporter.stop()


@contextmanager
def lines(unit: str) -> Iterator[Progress]:
    """Like `progress`, but with lines even on a terminal: for a process that must stay single-threaded."""
    yield _Reporter(False, unit)


def print_line(reporter: object, text: str) -> None:
    """Print a line above the progress of a command; does nothing for a callback from elsewhere."""
    if isinstance(reporter, _Reporter):
        reporter.print_line(text)


class _Reporter:
    def __init__(self, terminal: bool, unit: str) -> None:
        self.terminal = terminal
        self.unit = unit
        self.start = time.monotonic()
        self.due = self.start + FIRST_S
        self.bar: Bar | None = None

    def __call__(self, share: float, finished: int, total: int) -> None:
        now = time.monotonic()
        if now < self.due:
            return
        if self.terminal:
            self._draw(share, finished, total)
        else:
            self.due = now + EVERY_S
            left = time_left(now - self.start, share)
            print(f"{finished} of {total} {self.unit}, {share:.0%}{left}", file=sys.stderr, flush=True)

    def print_line(self, text: str) -> None:
        if self.bar is None:
            print(text, file=sys.stderr, flush=True)
        else:
            self.bar.console.print(text, markup=False, highlight=False)

    def _draw(self, share: float, finished: int, total: int) -> None:
        if self.bar is None:
            self.bar = _new_bar()
            self.bar.start()
            self.bar.add_task("", total=1.0)
        self.bar.update(self.bar.task_ids[0], completed=share, description=f"{finished} of {total} {self.unit}")

    def stop(self) -> None:
        if self.bar is not None:
            self.bar.stop()


def time_left(elapsed_s: float, share: float) -> str:
    """Estimate of the time left, as text."""
    if share <= 0:
        return ""
    left = elapsed_s * (1 - share) / share
    return f", about {left:.0f} s left" if left < 120 else f", about {left / 60:.0f} min left"


def _new_bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Bar(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def steps() -> Iterator[Steps]:
    """Yield a callback that shows steps: a bar on a terminal, otherwise a line per step."""
    if not sys.stderr.isatty():
        yield _StepLines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda share, step: bar.update(task, completed=share, description=step[:60])


class _StepLines:
    def __init__(self) -> None:
        self.last = ""

    def __call__(self, _share: float, step: str) -> None:
        word = step.split(" ")[0]
        if word != self.last:
            self.last = word
            print(step, file=sys.stderr, flush=True)
