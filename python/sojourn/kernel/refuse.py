"""What the kernel cannot express is refused: the place, the reason, the remedy."""

from __future__ import annotations

from typing import NoReturn

from sojourn.base.errors import InputError


def refuse(place: str, reason: str, remedy: str) -> NoReturn:
    """Refuse a scenario for the kernel."""
    raise InputError(f"{place}: the engine kernel {reason}; {remedy}")
