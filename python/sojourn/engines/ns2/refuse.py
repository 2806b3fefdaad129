"""What ns-2 cannot express is refused: the place, the reason, the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from sojourn.engines import refusal


def refuse(place: str, reason: str, remedy: str) -> NoReturn:
    """Refuse a scenario for ns-2."""
    refusal.refuse("ns2", place, reason, remedy)


def refuse_links(place: str, keys: Mapping[str, Any], reasons: Mapping[str, str]) -> None:
    """Refuse the kinds of links that ns-2 has not, and the keys named in `reasons`."""
    refusal.refuse_links("ns2", place, keys, reasons)
