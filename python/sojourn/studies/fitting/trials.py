"""Trials with drawn true values, stored in a file so that an interrupted command can resume."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.base.files import check_writable, write_file
from sojourn.base.inputs import parse_json, read_bytes
from sojourn.base.shapes import find_mismatch, is_count, is_flag, is_number, is_number_or_null, is_text
from sojourn.studies.fitting.coverage import drawn_trial
from sojourn.studies.fitting.data import Data
from sojourn.studies.fitting.search import Simulate
from sojourn.studies.fitting.study import Make

_KEY = {
    **dict.fromkeys(("key", "unit"), is_text),
    **dict.fromkeys(("truth", "value", "low", "high", "half_width"), is_number),
    "covered": is_flag,
}
_FILE = {"trials": [{"trial": is_count, "keys": [_KEY], "p": is_number_or_null, "closed": is_flag}]}


class Trials:
    """Trials of a scenario and data, in a file; trials of another scenario or version are recomputed."""

    def __init__(self, file: Path, data: Data, make: Make) -> None:
        """Read the existing trials."""
        if data.space.choices:
            raise InputError("--drawn: true values are drawn from ranges; set the choices with --set")
        self.file = file
        self.data = data
        self.computed = 0
        self._of = _identity(data, make)
        self._done = _read(file, self._of)

    def up_to(
        self,
        count: int,
        groups: Sequence[Sequence[int]],
        simulate: Simulate,
        tell: Callable[[float, int, int], None],
    ) -> list[dict[str, Any]]:
        """Return the first `count` trials; missing ones are computed, and each is stored at once."""
        check_writable(self.file.parent)
        for trial in range(count):
            if trial not in self._done:
                self._done[trial] = drawn_trial(self.data, self.data.truth, groups, simulate, trial)
                self.computed += 1
                self._write()
            tell((trial + 1) / count, trial + 1, count)
        return [self._done[trial] for trial in range(count)]

    def _write(self) -> None:
        document = {"of": self._of, "trials": [self._done[trial] for trial in sorted(self._done)]}
        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        write_file(self.file, lambda stream: stream.write(text.encode()))


def _identity(data: Data, make: Make) -> str:
    """Hash of everything that a trial depends on: scenario, free keys, numbers, ranges of true values, version."""
    middle = data.space.sets(data.space.point([0.5] * len(data.space.ranges)))
    document = make(middle).document
    about = (document, repr(data.space), repr(data.numbers), repr(data.truth), _core.version())
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _read(file: Path, of: str) -> dict[int, dict[str, Any]]:
    if not file.exists():
        return {}
    try:
        document = parse_json(read_bytes(file, "file of trials"))
        if find_mismatch("", document, {"of": is_text}) is not None or (
            document["of"] == of and find_mismatch("", document, _FILE) is not None
        ):
            raise ValueError
        return {one["trial"]: one for one in document["trials"]} if document["of"] == of else {}
    except ValueError:
        raise InputError(f"{file}: not a file of trials; choose another place with -o") from None
