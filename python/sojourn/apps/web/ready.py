"""Waits for the servers of a replay, then executes a program: ``python -m sojourn.web.ready PORT LOG COMMAND...``."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from sojourn.apps.web.proxy import wait_for
from sojourn.base.errors import MissingError


def main() -> None:
    """Execute the command once the port of $SOJOURN_HOST is open."""
    port, log, *command = sys.argv[1:]
    try:
        wait_for(os.environ["SOJOURN_HOST"], int(port))
    except MissingError as error:
        reason = ""
        with contextlib.suppress(OSError):
            reason = Path(log).read_text(errors="replace").strip()
        sys.exit(f"Error: {error}" + (f"; mitmproxy reports: {reason}" if reason else ""))
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"Error: {command[0]}: {error.strerror}; give the name of a program after --", file=sys.stderr)
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)


if __name__ == "__main__":
    main()
