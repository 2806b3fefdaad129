"""The tested program: a command that runs networks and leaves their records in a folder."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import STDOUT

from sojourn.base.children import child
from sojourn.base.errors import InputError
from sojourn.studies.gating.records import FOLDER, SEED, SEEDS

LOOK_S = 0.1
"""Polling interval of the program's state, in seconds."""
LAST_LINES, LAST_BYTES = 12, 1 << 16
"""Lines and bytes from the end of the program's output that an error shows."""


class FailedError(Exception):
    """The tested program failed; the text has its status and the end of its output."""


@dataclass(frozen=True)
class Program:
    """A command and its working folder."""

    words: Sequence[str]
    folder: Path
    place: str
    """Place of the command, for errors."""

    def run(
        self,
        out: Path,
        seeds: Sequence[int] = (),
        extra: Mapping[str, str] | None = None,
        tell: Callable[[int], None] = lambda _count: None,
    ) -> int:
        """Run it until it ends, and return its exit status; `tell` is called with the number of records.

        The records are in `out`, and its output in `out` with the suffix .log. Without seeds the environment's apply.
        """
        environment = {**os.environ, FOLDER: str(out), **(extra or {})}
        if seeds:
            environment.pop(SEED, None)  # it would select one of them
            environment[SEEDS] = f"{seeds[0]}-{seeds[-1]}"
        out.mkdir()
        with self._log(out).open("wb") as log:
            options = {"cwd": self.folder, "env": environment, "stdout": log, "stderr": STDOUT}
            try:
                with child(self.words, **options) as process:
                    while process.poll() is None:
                        tell(_count(out))
                        time.sleep(LOOK_S)
                    return int(process.returncode)
            except OSError as error:
                raise InputError(
                    f"{self.place}: {self.words[0]}: {error.strerror}; install it, or correct the command"
                ) from None

    def check(self, out: Path, status: int) -> None:
        """Raise `FailedError` for an exit status that is not 0."""
        if status:
            how = f"ended by signal {-status}" if status < 0 else f"exit status {status}"
            last = self._last(out)
            raise FailedError(
                "\n  ".join(
                    [f"{self.place}: {how}; {'the end of its output:' if last else 'it printed nothing'}", *last]
                )
            )

    def _last(self, out: Path) -> list[str]:
        with self._log(out).open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - LAST_BYTES))
            text = log.read().decode(errors="replace")
        return [line for line in text.splitlines() if line.strip()][-LAST_LINES:]

    @staticmethod
    def _log(out: Path) -> Path:
        return out.with_suffix(".log")


def _count(folder: Path) -> int:
    """Number of records so far."""
    return sum(entry.name.endswith(".json") and entry.name[0] != "." for entry in os.scandir(folder))
