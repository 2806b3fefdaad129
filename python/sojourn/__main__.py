"""Entry point of the command line."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn


def main() -> None:
    """Run the command line and leave with its exit code."""
    from sojourn.emulated import command as emulator

    if words := emulator.asked_for():
        leave(emulator.run(words))
    from sojourn.base import guard

    leave(guard.run(command_line))


def command_line() -> int:
    """Run a command that is no shell; its exit code."""
    stop_at_ctrl_c()
    try:
        from sojourn.cli import cli

        cli.main(prog_name="sojourn")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    return 0


def leave(code: int) -> NoReturn:
    """Exit with `code` at once: the interpreter's own shutdown is slow, and Ctrl-C during it kills with a signal."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        code = code or 3
    os._exit(code)


def stop_at_ctrl_c() -> None:
    """Let Ctrl-C end the process at once, unless it is ignored, as in a background job.

    An exception would wait for every thread, and modules written in C swallow it while they are being imported.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    try:
        if children := sys.modules.get("sojourn.base.children"):
            children.end()
        if files := sys.modules.get("sojourn.base.files"):
            files.abandon()
        show_cursor = b"\x1b[?25h" if os.isatty(2) else b""
        os.write(2, show_cursor + b"\nInterrupted; finished runs are kept.\n")
    finally:
        os._exit(130)


if __name__ == "__main__":
    main()
