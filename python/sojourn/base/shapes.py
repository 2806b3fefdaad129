"""Shapes of JSON documents that others may have damaged: the keys that there are, and what their values have to be.

A shape is a predicate, a list of one shape (any number of such), or a table of shapes by key: one that ends in ? may be
missing, and * is any other.
"""

from __future__ import annotations

from typing import Any

LARGEST = 2.0**63
"""Above every count and every number of ns or bytes in a file of ours."""


def misfit(place: str, value: Any, wanted: Any) -> str | None:
    """Place of the first value that is not of the shape `wanted`, e.g. `rows.5.1.runs[0].seed`; None if all are."""
    if isinstance(wanted, dict):
        return _in_table(place, value, wanted)
    if isinstance(wanted, list):
        if not isinstance(value, list):
            return place
        found = (misfit(f"{place}[{i}]", one, wanted[0]) for i, one in enumerate(value))
        return next(filter(None, found), None)
    return None if wanted(value) else place


def _in_table(place: str, value: Any, wanted: dict[str, Any]) -> str | None:
    if not isinstance(value, dict):
        return place
    needed = {key.rstrip("?"): kind for key, kind in wanted.items() if key != "*"}
    for key in needed.keys() - value.keys():
        if f"{key}?" not in wanted:
            return f"{place}.{key}"
    for key, one in value.items():
        kind = needed.get(key, wanted.get("*"))
        if kind is not None and (found := misfit(f"{place}.{key}", one, kind)) is not None:
            return found
    return None


def is_text(value: Any) -> bool:
    """Whether it is a text."""
    return isinstance(value, str)


def is_number(value: Any) -> bool:
    """Whether it is a number, not above `LARGEST`."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST  # false for NaN


def is_text_or_nothing(value: Any) -> bool:
    """Whether it is a text or null."""
    return value is None or is_text(value)


def is_scalar(value: Any) -> bool:
    """Whether it is a text, a flag or a number."""
    return isinstance(value, str | bool) or is_number(value)


def is_number_or_nothing(value: Any) -> bool:
    """Whether it is a number or null."""
    return value is None or is_number(value)


def is_count(value: Any) -> bool:
    """Whether it is a whole number from 0 on."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def is_flag(value: Any) -> bool:
    """Whether it is true or false."""
    return isinstance(value, bool)
