"""Entry point of the command line."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def main() -> None:
    """Run the command line and leave with its exit code."""
    from sojourn.engines.emulated import command as emulator

    if words := emulator.emulator_command():
        leave(emulator.run(words))
    from sojourn.base import guard

    leave(guard.run(command_line))


def command_line() -> int:
    """Run a command other than a shell; returns its exit code."""
    from sojourn.base.interrupt import stop_at_ctrl_c

    stop_at_ctrl_c()
    try:
        from sojourn.apps.cli import cli

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


if __name__ == "__main__":
    main()
