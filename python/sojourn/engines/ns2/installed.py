"""Debian's ns-2 on this machine."""

from __future__ import annotations

import hashlib
import shutil
from functools import cache
from pathlib import Path

from sojourn.base.errors import MissingError

PROGRAM = "ns"
PACKAGE = "ns2"


def find() -> Path | None:
    """Path of the program, if it is installed."""
    found = shutil.which(PROGRAM)
    return Path(found).resolve() if found else None


def ns() -> Path:
    """Path of the program; raises `MissingError` if it is not installed."""
    found = find()
    if found is None:
        raise MissingError(f"{PROGRAM}: ns-2 is not installed; on Debian or Ubuntu: apt install {PACKAGE}")
    return found


def identity() -> str:
    """Name in the hash of results, with the program's digest."""
    return f"ns2-{digest(ns())}"


@cache
def digest(path: Path) -> str:
    """First 12 hex digits of a file's SHA-256."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
