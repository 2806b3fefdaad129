"""Execution of `ns` with a script."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from sojourn.base.children import child
from sojourn.base.errors import MissingError
from sojourn.engines.ns2 import installed

LAST_LINES = 6
DONE = "done"


def run(script: Path, trace: Path, more: Sequence[str] = (), tick: Callable[[float], None] | None = None) -> list[str]:
    """Run a script and return the lines that it prints. `tick` gets the fraction done; an exception of it ends ns."""
    command = [str(installed.ns()), str(script), str(trace), *more]
    errors = trace.with_name("errors")
    printed: list[str] = []
    with errors.open("w") as stderr, child(command, stderr=stderr, text=True, cwd=trace.parent) as ns:
        for line in ns.stdout or ():
            word, _, rest = line.rstrip("\n").partition(" ")
            if word != "@":
                printed.append(line.rstrip("\n"))
            elif tick:
                tick(float(rest))
    if not printed or printed[-1] != DONE:
        raise MissingError(_failure(printed, errors.read_text(errors="replace").splitlines()))
    return printed[:-1]


def _failure(printed: Sequence[str], errors: Sequence[str]) -> str:
    """Error message with the last lines of ns."""
    lines = [line for line in [*printed, *errors] if line.strip() and not line.startswith(("flow ", "sample "))]
    if any(os.strerror(28) in line for line in lines):
        return "ns-2 stopped: no space is left in the folder of temporary files; free some, or set TMPDIR"
    return "\n  ".join(["ns-2 stopped before the end; its output:", *(lines[-LAST_LINES:] or ["nothing"])])
