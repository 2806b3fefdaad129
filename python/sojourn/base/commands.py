"""Subprocesses that are run for their output or the files that they make."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from sojourn.base.errors import MissingError

LAST_LINES = 8
"""Lines of output, from the end, that the error about a failed program shows."""


def run_command(
    command: Sequence[str],
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    failure: str | None = None,
    last_lines: int = LAST_LINES,
) -> str:
    """Run a command in a folder and return its stdout.

    Raises `MissingError` if it cannot start or fails; the error begins with `failure`, by default the exit status, and
    shows the `last_lines` of the output.
    """
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise MissingError(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        last = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()][-last_lines:]
        failure = failure or f"{' '.join(command[:3])} ended with status {done.returncode}"
        raise MissingError("\n  ".join([f"{failure}:", *last]))
    return done.stdout
