"""Dotted paths into documents, such as `flows.0.rtt`."""

from __future__ import annotations

from typing import Any


def value_at(document: Any, path: str) -> Any:
    """What a document has at a dotted path, entries of lists by number; raises `KeyError` where it has nothing."""
    found = document
    for step in path.split("."):
        try:
            found = found[int(step)] if isinstance(found, list) else found[step]
        except (ValueError, IndexError, TypeError):
            raise KeyError(path) from None
    return found
