"""Quantities of a canonical scenario as integers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.base.units import initial_value


def nanoseconds(place: str, text: str) -> int:
    """Duration in ns."""
    try:
        return int(_core.duration_ns(text))
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def octets(place: str, text: str) -> int:
    """Size in bytes."""
    try:
        return int(_core.size_bytes(text))
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def signed_octets(place: str, text: str) -> int:
    """Size in bytes, possibly negative."""
    return -octets(place, text[1:]) if text.startswith("-") else octets(place, text)


def bits(place: str, text: str) -> int:
    """Rate in bit/s."""
    number, _, unit = text.partition(" ")
    if unit not in _UNITS:
        raise InputError(f'{place}: "{text}" is not a rate; write e.g. "10 Mbit/s"')
    whole, _, fraction = number.partition(".")
    scale, digits = _UNITS[unit], 10 ** len(fraction)
    return int(whole) * scale + int(fraction or 0) * scale // int(digits)


def steps(place: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield start time in ns and value of each step of a schedule; a constant is one step at 0."""
    for step in text.split(","):
        value, _, at = step.partition("@")
        yield nanoseconds(place, at) if at else 0, value


def limit_of(place: str, limit: str, link: Mapping[str, Any]) -> tuple[int, str]:
    """Limit of a queue as a number and its unit, "packets" or "B"; a time is converted at the link's initial rate."""
    number, _, unit = limit.partition(" ")
    if unit.startswith("packet"):
        return int(number), "packets"
    if unit == "B":
        return int(number), "B"
    rate = bits(f"{place}.rate", initial_value(link["rate"]))
    return rate * nanoseconds(f"{place}.limit", limit) // 8_000_000_000, "B"


def non_profile_parameters(aqm: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parameters in a queue manager's table that differ from its profile's."""
    name, profile = aqm["name"], aqm["profile"]
    plain = json.loads(_core.parse_aqm(f"{name}@{profile}" if profile != "plain" else name))["params"]
    return (key for key, value in plain.items() if key in aqm and _text(aqm[key]) != value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


_UNITS = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}
