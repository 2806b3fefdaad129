"""Waits for the servers of a replay, then executes: ``python -m sojourn.web.ready FOLDER TOKEN COMMAND...``."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

from sojourn.apps.web.proxy import last_line
from sojourn.apps.web.replay import ENDED, READY, READY_S, SAID


def main() -> None:
    """Execute the command once the servers have written the token."""
    folder, token, *command = sys.argv[1:]
    if reason := _failure(Path(folder), token):
        sys.exit(f"Error: {reason}")
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"Error: {command[0]}: {error.strerror}; give the name of a program after --", file=sys.stderr)
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)


def _failure(folder: Path, token: str) -> str:
    """Wait for the token; returns why it did not come, or nothing."""
    end = time.monotonic() + READY_S
    while True:
        # No other server writes it: a port that answers may be another program's.
        with contextlib.suppress(OSError):
            if (folder / READY).read_text(encoding="ascii") == token:
                return ""
        if (folder / ENDED).exists():
            return f"mitmproxy does not start: {_said(folder)}"
        if time.monotonic() > end:
            return f"the servers are not ready after {READY_S:.0f} s; mitmproxy reports: {_said(folder)}"
        time.sleep(0.02)


def _said(folder: Path) -> str:
    with contextlib.suppress(OSError):
        return last_line((folder / SAID).read_text(errors="replace"))
    return last_line("")


if __name__ == "__main__":
    main()
