"""Quantities of a canonical scenario as whole numbers."""

from __future__ import annotations

from sojourn import _core
from sojourn.base.errors import InputError


def nanoseconds(place: str, text: str) -> int:
    """Return a duration in ns."""
    try:
        return int(_core.duration_ns(text))
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def octets(place: str, text: str) -> int:
    """Return a size in bytes."""
    try:
        return int(_core.size_bytes(text))
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def bits(place: str, text: str) -> int:
    """Return a rate in bit/s."""
    number, _, unit = text.partition(" ")
    if unit not in _UNITS:
        raise InputError(f'{place}: "{text}" is no rate; write e.g. "10 Mbit/s"')
    whole, _, fraction = number.partition(".")
    scale, digits = _UNITS[unit], 10 ** len(fraction)
    return int(whole) * scale + int(fraction or 0) * scale // int(digits)


_UNITS = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}
