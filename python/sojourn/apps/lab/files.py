"""The files that a page is given with a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn.base.errors import InputError
from sojourn.base.inputs import read_bytes
from sojourn.model.scenarios.named import named_files

MAX_BYTES = 64_000_000
"""Bytes of the files of a scenario that a page is given."""


def files_beside(document: Mapping[str, Any], base: Path) -> dict[str, bytes]:
    """The files that a scenario names, by the name that is written there; of a trace also that of the reverse path."""
    found: dict[str, bytes] = {}
    for name in named_files(document):
        here = next((name + ending for ending in ("", ".dist") if (base / (name + ending)).is_file()), name)
        found[here] = read_bytes(base / here)
        for way, back in ((".down", ".up"), (".up", ".down")):
            other = name.removesuffix(way) + back
            if name.endswith(way) and (base / other).is_file():
                found[other] = read_bytes(base / other)
    return small(found)


def small(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files, unless they are more than a page takes."""
    size = sum(map(len, files.values()))
    if size > MAX_BYTES:
        most = MAX_BYTES / 1e6
        raise InputError(f"the files of the scenario have {size / 1e6:.0f} MB; a page takes up to {most:.0f} MB")
    return files
