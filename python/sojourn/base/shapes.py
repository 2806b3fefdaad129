"""Shapes of JSON documents, which may be damaged: their keys and the types of their values.

A shape is a predicate, a list with one shape (for all its items), or a table of shapes by key: a key that ends in ?
is optional, and * matches any other key.
"""

from __future__ import annotations

from typing import Any

MAX_NUMBER = 2.0**63
"""Upper bound of all counts, times in ns and sizes in bytes in our files."""


def find_mismatch(place: str, value: Any, shape: Any) -> str | None:
    """Path of the first value that does not match `shape`, e.g. `rows.5.1.runs[0].seed`; None if all match."""
    if isinstance(shape, dict):
        return _in_table(place, value, shape)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return place
        found = (find_mismatch(f"{place}[{i}]", item, shape[0]) for i, item in enumerate(value))
        return next(filter(None, found), None)
    return None if shape(value) else place


def _in_table(place: str, value: Any, shape: dict[str, Any]) -> str | None:
    if not isinstance(value, dict):
        return place
    needed = {key.rstrip("?"): kind for key, kind in shape.items() if key != "*"}
    for key in needed.keys() - value.keys():
        if f"{key}?" not in shape:
            return f"{place}.{key}"
    for key, item in value.items():
        kind = needed.get(key, shape.get("*"))
        if kind is not None and (found := find_mismatch(f"{place}.{key}", item, kind)) is not None:
            return found
    return None


def is_text(value: Any) -> bool:
    """Whether it is a string."""
    return isinstance(value, str)


def is_number(value: Any) -> bool:
    """Whether it is a number (no bool, no NaN) of at most `MAX_NUMBER` in magnitude."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_NUMBER  # false for NaN


def is_text_or_null(value: Any) -> bool:
    """Whether it is a string or null."""
    return value is None or is_text(value)


def is_scalar(value: Any) -> bool:
    """Whether it is a string, a bool or a number."""
    return isinstance(value, str | bool) or is_number(value)


def is_number_or_null(value: Any) -> bool:
    """Whether it is a number, as in `is_number`, or null."""
    return value is None or is_number(value)


def is_count(value: Any) -> bool:
    """Whether it is an integer from 0 to `MAX_NUMBER`."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_NUMBER


def is_flag(value: Any) -> bool:
    """Whether it is a bool."""
    return isinstance(value, bool)
