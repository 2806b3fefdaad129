"""Refusals of what an engine cannot express: place, reason, remedy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from sojourn.base.errors import InputError


def refuse(engine: str, place: str, reason: str, remedy: str) -> NoReturn:
    """Raise `InputError` about a key of a scenario."""
    raise InputError(f"{place}: the engine {engine} {reason}; {remedy}")


def refuse_links(engine: str, place: str, keys: Mapping[str, Any], reasons: Mapping[str, str]) -> None:
    """Refuse a link whose rate is neither fixed nor stepped, and the keys in `reasons`."""
    for key in ("bucket", "poisson", "cox", "trace"):
        if keys.get(key):
            refuse(
                engine,
                f"{place}.{key}",
                "supports only links of a constant rate or of steps",
                'write e.g. rate = "10 Mbit/s"',
            )
    for key, reason in reasons.items():
        if keys.get(key):
            refuse(engine, f"{place}.{key}", reason, "leave it out")
