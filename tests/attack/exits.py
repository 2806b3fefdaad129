"""Exit code and outputs of cases that do not run as a command line within the worker."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Exit:
    """Exit code and outputs of a case, with the attributes of click's result; `exception` is a fault."""

    exit_code: int
    stdout: str = ""
    stderr: str = ""
    exception: BaseException | None = None
    exc_info: None = None

    @property
    def output(self) -> str:
        """Standard output and standard error."""
        return self.stdout + self.stderr


def run_process(command: Sequence[str], timeout_s: float = 30) -> Exit:
    """Run a program without input; `$PYTHON` is this interpreter, for shell scripts."""
    env = os.environ | {"PYTHON": sys.executable}
    try:
        ran = subprocess.run(
            command, capture_output=True, timeout=timeout_s, stdin=subprocess.DEVNULL, check=False, env=env
        )
    except subprocess.TimeoutExpired:
        return Exit(-1, "", "hangs")
    return Exit(ran.returncode, ran.stdout.decode(errors="replace"), ran.stderr.decode(errors="replace"))
