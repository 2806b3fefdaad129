"""Dotted paths in documents, such as `flows.0.rtt`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sojourn.base.errors import InputError


def split_paths(paths: str) -> list[str]:
    """Split an entry's comma-separated paths: `flows.0.rtt, flows.1.rtt` are two."""
    return [path.strip() for path in paths.split(",")]


def check_distinct(table: str, paths: Iterable[str]) -> None:
    """Refuse a path that occurs twice in the entries of a table: one of its values would be lost."""
    seen = set()
    for path in paths:
        if path in seen:
            raise InputError(f"{table}.{path}: is given twice; leave one out")
        seen.add(path)


def value_at(document: Any, path: str) -> Any:
    """Value at a dotted path, with entries of lists by index; raises `KeyError` if there is none."""
    value = document
    for step in path.split("."):
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (ValueError, IndexError, TypeError):
            raise KeyError(path) from None
    return value
