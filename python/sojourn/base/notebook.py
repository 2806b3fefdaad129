"""Progress of runs that a program starts: a bar in a notebook, on request one on the terminal too."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any

from sojourn.base.progress import progress as on_terminal
from sojourn.base.progress import time_left

FIRST_S = 1.0
"""A bar is shown from then on."""
EVERY_S = 0.2
"""Seconds between two looks of a bar."""
Told = Callable[..., None]
"""Called with the share of work done (0 to 1), and where there are several runs with finished ones and all."""


@contextmanager
def shown(progress: Told | bool | None) -> Iterator[Told | None]:
    """Give what to tell progress to: a function of the caller's, a bar (True), or in a notebook a bar by itself."""
    if callable(progress):
        yield progress
    elif progress is not False and in_notebook():
        bar = NotebookBar()
        try:
            yield bar
        finally:
            bar.close()
    elif progress:
        with on_terminal() as told:
            yield lambda share, finished=0, total=1: told(share, finished, total)
    else:
        yield None


def lab_of(what: object) -> Any:
    """Return the widget that shows a scenario or a result in a notebook, by the package that builds on both."""
    return import_module("sojourn.apps.lab.widget").show(what)


def in_notebook() -> bool:
    """Whether a notebook shows what we display."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")


class NotebookBar:
    """A bar below the cell that is gone when the work is done; it needs nothing but IPython."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._due = self._began + FIRST_S
        self._id = ""

    def __call__(self, share: float, finished: int = 0, total: int = 1) -> None:
        """Show how far the work is."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + EVERY_S
        runs = f"{finished} of {total} runs, " if total > 1 else ""
        text = f"{runs}{share:.0%}{time_left(now - self._began, share)}"
        bar = f'<progress value="{share:.3f}" max="1" style="width: 20em"></progress> {escape(text)}'
        self._display({"text/html": bar, "text/plain": text})

    def close(self) -> None:
        """Remove the bar."""
        if self._id:
            self._display({"text/html": "", "text/plain": ""})

    def _display(self, shown: dict[str, str]) -> None:
        display: Any = sys.modules["IPython"].display
        is_first = not self._id
        self._id = self._id or uuid.uuid4().hex
        display.display(shown, raw=True, display_id=self._id, update=not is_first)
