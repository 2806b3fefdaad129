"""Ctrl-C in programs that compute: it ends them at once, and what is half-written is taken away."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


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
