"""Progress of runs started from Python: a bar in a notebook, and on request on a terminal."""

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
"""Delay before the bar appears."""
EVERY_S = 0.2
"""Interval between updates of the bar."""
ProgressCallback = Callable[..., None]
"""Called with the fraction done (0 to 1) and, if there are several runs, the finished and the total number."""


@contextmanager
def progress_callback(progress: ProgressCallback | bool | None) -> Iterator[ProgressCallback | None]:
    """Yield the progress callback: the caller's, or that of a bar if `progress` is True or, in a notebook, None."""
    if callable(progress):
        yield progress
    elif progress is not False and in_notebook():
        bar = NotebookBar()
        try:
            yield bar
        finally:
            bar.close()
    elif progress:
        with on_terminal() as report:
            yield lambda share, finished=0, total=1: report(share, finished, total)
    else:
        yield None


def lab_widget(subject: object) -> Any:
    """Widget that shows a scenario or a result in a notebook; the lab is imported late, as it builds on both."""
    return import_module("sojourn.apps.lab.widget").show(subject)


def in_notebook() -> bool:
    """Whether we run in a notebook's kernel."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")


class NotebookBar:
    """Progress bar below the cell, removed at the end; needs only IPython."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._due = self._began + FIRST_S
        self._id = ""

    def __call__(self, share: float, finished: int = 0, total: int = 1) -> None:
        """Update the bar."""
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

    def _display(self, mime_bundle: dict[str, str]) -> None:
        display: Any = sys.modules["IPython"].display
        is_first = not self._id
        self._id = self._id or uuid.uuid4().hex
        display.display(mime_bundle, raw=True, display_id=self._id, update=not is_first)
