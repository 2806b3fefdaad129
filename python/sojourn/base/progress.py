"""Progress on stderr: a bar on a terminal, a line now and then elsewhere; nothing for what takes under a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

Progress = Callable[[float, int, int], None]
"""Called with the share of work done (0 to 1), finished runs and all runs."""
Steps = Callable[[float, str], None]
"""Called with the share of work done and what is being done."""
FIRST_S = 1.0
"""Progress is shown from then on."""
EVERY_S = 5.0
"""Seconds between two lines where there is no terminal."""


@contextmanager
def progress(what: str = "runs") -> Iterator[Progress]:
    """Give a function that shows how far the runs are, or `what` else is counted."""
    reporter = _Reporter(sys.stderr.isatty(), what)
    try:
        yield reporter
    finally:
        reporter.stop()


@contextmanager
def lines(what: str) -> Iterator[Progress]:
    """Give the same for a process that may have one thread only: a line now and then, also on a terminal."""
    yield _Reporter(False, what)


def say(reporter: object, text: str) -> None:
    """Show a line beside the progress of a command; nothing where somebody else shows the progress."""
    if isinstance(reporter, _Reporter):
        reporter.say(text)


class _Reporter:
    def __init__(self, terminal: bool, what: str) -> None:
        self.terminal = terminal
        self.what = what
        self.began = time.monotonic()
        self.due = self.began + FIRST_S
        self.bar: Bar | None = None

    def __call__(self, share: float, finished: int, total: int) -> None:
        now = time.monotonic()
        if now < self.due:
            return
        if self.terminal:
            self._draw(share, finished, total)
        else:
            self.due = now + EVERY_S
            left = time_left(now - self.began, share)
            print(f"{finished} of {total} {self.what}, {share:.0%}{left}", file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        if self.bar is None:
            print(text, file=sys.stderr, flush=True)
        else:
            self.bar.console.print(text, markup=False, highlight=False)

    def _draw(self, share: float, finished: int, total: int) -> None:
        if self.bar is None:
            self.bar = _new_bar()
            self.bar.start()
            self.bar.add_task("", total=1.0)
        self.bar.update(self.bar.task_ids[0], completed=share, description=f"{finished} of {total} {self.what}")

    def stop(self) -> None:
        if self.bar is not None:
            self.bar.stop()


def time_left(elapsed_s: float, share: float) -> str:
    """Estimate of the time left, as words."""
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
    """A line for each step."""

    def __init__(self) -> None:
        self.last = ""

    def __call__(self, _share: float, what: str) -> None:
        step = what.split(" ")[0]
        if step != self.last:
            self.last = step
            print(what, file=sys.stderr, flush=True)
