"""Fingerprints of the source of a class, which are part of what a result is stored under."""

from __future__ import annotations

import hashlib
import inspect
import sys
from pathlib import Path


def source_digest(cls: type) -> str | None:
    """SHA-256 of the source that a class is being defined in; None where there is no source, as at a prompt."""
    module = sys.modules.get(cls.__module__)
    if known := getattr(module, "__source_digest__", None):
        return str(known)
    path = getattr(module, "__file__", None) or ""
    if path.endswith(".py"):
        return digest_of(path)
    try:
        return hashlib.sha256(inspect.getsource(cls).encode()).hexdigest()
    except (OSError, TypeError):
        return None


def digest_of(path: str) -> str | None:
    """SHA-256 of a file; None where it cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None
