"""Digests of the source of a class, which are part of the key of stored results."""

from __future__ import annotations

import hashlib
import inspect
import sys
from pathlib import Path


def source_digest(cls: type) -> str | None:
    """SHA-256 of the source in which a class is being defined; None without a source, as at a prompt."""
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
    """SHA-256 of a file; None if it cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None
