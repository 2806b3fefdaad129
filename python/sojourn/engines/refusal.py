"""What an engine cannot express is refused: the place, the reason, the remedy."""

from __future__ import annotations

from typing import NoReturn

from sojourn.base.errors import InputError


def refuse(engine: str, place: str, reason: str, remedy: str) -> NoReturn:
    """Refuse a scenario for an engine."""
    raise InputError(f"{place}: the engine {engine} {reason}; {remedy}")
