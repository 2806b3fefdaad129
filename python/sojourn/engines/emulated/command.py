"""Commands that run real programs. They fork, so they start before click is loaded and before any thread."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from typing import Any

SHELLS = {
    "link": "Run a program behind an emulated link with a queue manager.",
    "delay": "Run a program behind a delay.",
    "loss": "Run a program behind a lossy path.",
    "ctl": "Change a running link, delay or loss.",
}
"""Commands and their help; the last one runs no program."""

MAHIMAHI = ("mm-link", "mm-delay", "mm-loss", "mm-onoff", "mm-intermittent", "mm-meter")
"""Mahimahi's commands, also recognised as the program's own name through a symbolic link."""


def emulator_command() -> list[str] | None:
    """Words of the command line, from the command's name on; None for any other command."""
    name = os.path.basename(sys.argv[0])  # noqa: PTH119 (importing pathlib would dominate the start-up)
    if name in MAHIMAHI:
        return [name, *sys.argv[1:]]
    if len(sys.argv) > 1 and (sys.argv[1] in SHELLS or sys.argv[1] in MAHIMAHI):
        return sys.argv[1:]
    return None


def run(words: list[str]) -> int:
    """Run a command line and return its exit code; if a signal ended the command, it ends us, too."""
    from sojourn import _core

    ended = _core.emulate(words)
    code: int = ended["code"]
    if ended["log"] is not None:
        stored = _store(ended)  # also if the command failed: its traffic is valid
        code = code or stored
    if code < 0:
        _raise_signal(-code)
    return code


def _store(ended: dict[str, Any]) -> int:
    """Make a result of a shell's log and judge its sentences; returns the exit code."""
    from sojourn.base.errors import explain
    from sojourn.engines.emulated.expected import judge
    from sojourn.engines.emulated.logs import discard, make_result, read_result

    folder = ended["log"]
    try:
        if not ended["is_temporary"]:
            make_result(folder)
        if ended["expected"]:
            return judge(read_result(folder), ended["expected"], quiet=ended["is_quiet"])
    except Exception as error:
        if (explained := explain(error)) is None:
            raise
        print(f"Error: {explained[1]}", file=sys.stderr)
        return explained[0]
    finally:
        if ended["is_temporary"]:
            discard(folder)
    return 0


def _raise_signal(signal_number: int) -> NoReturn:
    import signal

    with suppress(OSError, ValueError):
        import resource

        # A core dump should come from the command only.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):
        signal.signal(signal_number, signal.SIG_DFL)
    os.kill(os.getpid(), signal_number)
    os._exit(128 + signal_number)
