"""What the kernel cannot express is refused: the place, the reason, the remedy."""

from __future__ import annotations

from typing import NoReturn

from sojourn.engines import refusal


def refuse(place: str, reason: str, remedy: str) -> NoReturn:
    """Refuse a scenario for the kernel."""
    refusal.refuse("kernel", place, reason, remedy)
