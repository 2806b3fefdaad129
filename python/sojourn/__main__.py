"""Entry point of the command line."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import NoReturn

EMULATOR = frozenset({"link", "delay", "loss", "mm-link", "mm-delay", "mm-loss", "mm-onoff"})
"""Commands that run real programs; they fork, so they begin before click and any thread."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    if len(sys.argv) > 1 and sys.argv[1] in EMULATOR:
        emulate(sys.argv[1:])
    stop_at_ctrl_c()
    try:
        from sojourn.cli import cli

        cli.main(prog_name="sojourn")
    except SystemExit as stop:
        leave(stop.code if isinstance(stop.code, int) else 0)


def mahimahi() -> None:
    """Run one of Mahimahi's commands, by the name under which this program was called."""
    emulate([os.path.basename(sys.argv[0]), *sys.argv[1:]])  # noqa: PTH119 (pathlib would double the start-up time)


def emulate(words: list[str]) -> NoReturn:
    """Run a command behind an emulated path and leave as it does: with its exit code, or by its signal."""
    from sojourn._core import emulate as run

    code, log = run(words)
    if log is not None:
        code = code or _make_result(log)
    if code < 0:
        with suppress(OSError, ValueError):
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
        code = 128 - code
    leave(code)


def _make_result(folder: str) -> int:
    """Make a result of a shell's log; the exit code."""
    from sojourn.emulated.logs import make_result
    from sojourn.errors import explain

    try:
        make_result(folder)
    except Exception as error:
        if (known := explain(error)) is None:
            raise
        print(f"Error: {known[1]}", file=sys.stderr)
        return known[0]
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
        if files := sys.modules.get("sojourn.files"):
            files.abandon()
        show_cursor = b"\x1b[?25h" if os.isatty(2) else b""
        os.write(2, show_cursor + b"\nInterrupted; finished runs are kept.\n")
    finally:
        os._exit(130)


if __name__ == "__main__":
    main()
