"""Dotted paths into documents, such as `flows.0.rtt`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sojourn.base.errors import InputError


def split_paths(paths: str) -> list[str]:
    """Paths that an entry names: `flows.0.rtt, flows.1.rtt` are two."""
    return [path.strip() for path in paths.split(",")]


def check_distinct(table: str, paths: Iterable[str]) -> None:
    """Refuse a path that the entries of a table name twice: one of its values would be lost."""
    seen = set()
    for path in paths:
        if path in seen:
            raise InputError(f"{table}.{path}: is there twice; leave one out")
        seen.add(path)


def value_at(document: Any, path: str) -> Any:
    """What a document has at a dotted path, entries of lists by number; raises `KeyError` where it has nothing."""
    found = document
    for step in path.split("."):
        try:
            found = found[int(step)] if isinstance(found, list) else found[step]
        except (ValueError, IndexError, TypeError):
            raise KeyError(path) from None
    return found
