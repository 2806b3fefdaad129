"""How a case ended that is no command line within the worker."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Ended:
    """Outputs and exit code of a case, with the attributes of click's result; `exception` names a fault."""

    exit_code: int
    stdout: str = ""
    stderr: str = ""
    exception: BaseException | None = None
    exc_info: None = None

    @property
    def output(self) -> str:
        """All that was printed."""
        return self.stdout + self.stderr


def in_a_process(command: Sequence[str], patience_s: float = 30) -> Ended:
    """Run a program without input; `$PYTHON` is this interpreter, for scripts within."""
    env = os.environ | {"PYTHON": sys.executable}
    try:
        ran = subprocess.run(
            command, capture_output=True, timeout=patience_s, stdin=subprocess.DEVNULL, check=False, env=env
        )
    except subprocess.TimeoutExpired:
        return Ended(-1, "", "hangs")
    return Ended(ran.returncode, ran.stdout.decode(errors="replace"), ran.stderr.decode(errors="replace"))
