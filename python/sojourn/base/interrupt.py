"""Ctrl-C in programs that compute: they exit at once and remove their partial files."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def stop_at_ctrl_c() -> None:
    """Let SIGINT end the process at once, unless it is ignored, as in a background job.

    An exception would wait for every thread, and extension modules swallow it during their import.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    try:
        if children := sys.modules.get("sojourn.base.children"):
            children.kill_all()
        if files := sys.modules.get("sojourn.base.files"):
            files.remove_unfinished()
        show_cursor = b"\x1b[?25h" if os.isatty(2) else b""
        os.write(2, show_cursor + b"\nInterrupted; finished runs are kept.\n")
    finally:
        os._exit(130)
