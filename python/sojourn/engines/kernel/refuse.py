"""Refusals of what the kernel cannot express."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from sojourn.engines import refusal


def refuse(place: str, reason: str, remedy: str) -> NoReturn:
    """Raise `InputError` about a key of a scenario."""
    refusal.refuse("kernel", place, reason, remedy)


def refuse_links(place: str, keys: Mapping[str, Any], reasons: Mapping[str, str]) -> None:
    """Refuse the kinds of links that the kernel lacks, and the keys in `reasons`."""
    refusal.refuse_links("kernel", place, keys, reasons)
