"""Digests of named contents, for the names of what is built from them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

LENGTH = 12
"""Hexadecimal digits of a digest."""


def digest_of(parts: Iterable[tuple[str, bytes]]) -> str:
    """Digest of contents with their names, in order."""
    digest = hashlib.sha256()
    for name, text in parts:
        digest.update(f"{name}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:LENGTH]
