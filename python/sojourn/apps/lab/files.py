"""Files that a page receives with a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn.base.errors import InputError
from sojourn.base.inputs import read_bytes
from sojourn.model.scenarios.named import named_files

MAX_BYTES = 64_000_000
"""Maximum total size of the files of a scenario in a page."""


def files_beside(document: Mapping[str, Any], base: Path) -> dict[str, bytes]:
    """The files that a scenario names, by the name as written there; for a trace also that of the reverse path."""
    found: dict[str, bytes] = {}
    for name in named_files(document):
        here = next((name + ending for ending in ("", ".dist") if (base / (name + ending)).is_file()), name)
        found[here] = read_bytes(base / here)
        for suffix, opposite in ((".down", ".up"), (".up", ".down")):
            other = name.removesuffix(suffix) + opposite
            if name.endswith(suffix) and (base / other).is_file():
                found[other] = read_bytes(base / other)
    return check_size(found)


def check_size(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files; raises `InputError` if they exceed the limit of a page."""
    size = sum(map(len, files.values()))
    if size > MAX_BYTES:
        most = MAX_BYTES / 1e6
        raise InputError(f"the files of the scenario have {size / 1e6:.0f} MB; a page takes up to {most:.0f} MB")
    return files
