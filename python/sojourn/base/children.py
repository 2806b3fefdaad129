"""Programs that run for this process, each in a session of its own, and end with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

_running: set[int] = set()


@contextlib.contextmanager
def child(command: Sequence[str], **given: Any) -> Iterator[subprocess.Popen[Any]]:
    """Run a program whose output is read within the block; behind it the program and what it started are ended."""
    program = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True, **given
    )
    _running.add(program.pid)
    try:
        yield program
    finally:
        _kill(program.pid)
        program.wait()
        _running.discard(program.pid)
        if program.stdout is not None:
            program.stdout.close()


def end() -> None:
    """End all of them; for a process that ends right after."""
    for process in _running.copy():
        _kill(process)


def _kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process, signal.SIGKILL)
        else:
            os.kill(process, signal.SIGTERM)
