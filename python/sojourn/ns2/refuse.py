"""What ns-2 cannot express is refused: the place, the reason, the remedy."""

from __future__ import annotations

from typing import NoReturn

from sojourn.engines import refusal


def refuse(place: str, reason: str, remedy: str) -> NoReturn:
    """Refuse a scenario for ns-2."""
    refusal.refuse("ns2", place, reason, remedy)
