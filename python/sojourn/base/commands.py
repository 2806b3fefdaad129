"""Other programs that are run for what they make or print."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from sojourn.base.errors import MissingError

LAST_LINES = 8
"""So many of the last lines of a program that fails are told."""


def run_command(
    command: Sequence[str], folder: Path, *, environment: Mapping[str, str] | None = None, failure: str | None = None
) -> str:
    """Run a command in a folder; what it printed. If it fails, `failure` says what that means, else its status."""
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise MissingError(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        last = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()][-LAST_LINES:]
        failure = failure or f"{' '.join(command[:3])} ended with status {done.returncode}"
        raise MissingError("\n  ".join([f"{failure}:", *last]))
    return done.stdout
