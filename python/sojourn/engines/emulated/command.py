"""The commands that run real programs. They fork, so they begin before click is loaded and before any thread."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn

SHELLS = {
    "link": "Run a program behind an emulated link with a queue manager.",
    "delay": "Run a program behind a delay.",
    "loss": "Run a program behind a lossy path.",
    "ctl": "Change a running link, delay or loss.",
}
"""Names, and what each does; the last one runs no program."""

MAHIMAHI = ("mm-link", "mm-delay", "mm-loss", "mm-onoff", "mm-intermittent", "mm-meter")
"""Mahimahi's names, which work as commands and as names of links to the program."""


def asked_for() -> list[str] | None:
    """Words of the command line if it is one of these commands, its name first."""
    name = os.path.basename(sys.argv[0])  # noqa: PTH119 (pathlib would cost more than all else here)
    if name in MAHIMAHI:
        return [name, *sys.argv[1:]]
    if len(sys.argv) > 1 and (sys.argv[1] in SHELLS or sys.argv[1] in MAHIMAHI):
        return sys.argv[1:]
    return None


def run(words: list[str]) -> int:
    """Run a command line to its end; its exit code, unless a signal has ended the command: that ends us, too."""
    from sojourn import _core

    code, log = _core.emulate(words)
    if log is not None:
        stored = _store(log)  # also of a command that failed: what it sent is as good as any other traffic
        code = code or stored
    if code < 0:
        _die_of(-code)
    return code


def _store(folder: str) -> int:
    """Make a result of a shell's log; the exit code."""
    from sojourn.base.errors import explain
    from sojourn.engines.emulated.logs import make_result

    try:
        make_result(folder)
    except Exception as error:
        if (known := explain(error)) is None:
            raise
        print(f"Error: {known[1]}", file=sys.stderr)
        return known[0]
    return 0


def _die_of(signal_number: int) -> NoReturn:
    import signal

    with suppress(OSError, ValueError):
        import resource

        # The core dump, if there is one, is the command's.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):
        signal.signal(signal_number, signal.SIG_DFL)
    os.kill(os.getpid(), signal_number)
    os._exit(128 + signal_number)
