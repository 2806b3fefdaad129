"""Child processes, each in its own session, that are killed with this process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

_children: set[int] = set()


@contextlib.contextmanager
def child(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Run a program within the block, at whose end its process group is killed; `options` are those of `Popen`.

    Its output is read from a pipe unless they name another place.
    """
    usual = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "start_new_session": True}
    program = subprocess.Popen(command, **(usual | options))
    _children.add(program.pid)
    try:
        yield program
    finally:
        _kill(program.pid)
        program.wait()
        _children.discard(program.pid)
        if program.stdout is not None:
            program.stdout.close()


def kill_all() -> None:
    """Kill all children; only for a process that exits right after."""
    for process in _children.copy():
        _kill(process)


def _kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process, signal.SIGKILL)
        else:
            os.kill(process, signal.SIGTERM)
