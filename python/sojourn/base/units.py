"""Quantities as texts: as the core spells them ("100 s", "10 Mbit/s"), for labels and axes, and as users write them."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from math import exp, log
from typing import Any

from sojourn.base.errors import InputError

DIGITS = 6
"""Significant digits of a value that is drawn or tried, so that a run can be named by what is printed."""
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_BITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
_UNITS = {"s": _SECONDS, "bit/s": _BITS, "B": {"B": 1.0}, "packets": {"packets": 1.0}}


def seconds(text: str) -> float:
    """Seconds of a canonical duration."""
    return _read(text, _SECONDS)


def bits_per_second(text: str) -> float:
    """Bit/s of a canonical rate."""
    return _read(text, _BITS)


def schedule(text: str) -> list[tuple[str, str]]:
    """Values of a schedule ("100 Mbit/s@0 s,10 Mbit/s@50 s") and when each begins; of a plain value itself, at ""."""
    steps = [step.partition("@") for step in text.split(",")]
    return [(value.strip(), begins.strip()) for value, _, begins in steps]


def first_of(text: str) -> str:
    """The value with which a schedule begins; a plain value itself."""
    return schedule(text)[0][0]


def rates(text: str) -> list[float]:
    """Bit/s of a canonical rate, or of each step of a schedule."""
    return [bits_per_second(rate) for rate, _ in schedule(text)]


def quantity(value: object) -> tuple[float, str] | None:
    """Number and base unit (s, bit/s, B, packets, or none) of a canonical value; None for what is no number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value), ""
    number, _, unit = value.partition(" ") if isinstance(value, str) else ("", "", "")
    for base, units in _UNITS.items():
        if unit in units and _is_number(number):
            return float(number) * units[unit], base
    return None


def read_quantity(place: str, found: Any) -> tuple[Decimal, str]:
    """Number and unit of what a user wrote at a place; without a unit that is empty."""
    match = QUANTITY.fullmatch(found if isinstance(found, str) else str(found))
    if isinstance(found, bool) or match is None:
        raise InputError(f'{place}: {json.dumps(found)} is not a number, with or without a unit; write e.g. "5 ms"')
    return Decimal(match[1]), match[2]


def written_quantity(value: Decimal | float, unit: str) -> Any:
    """A number as a scenario takes it: with its unit as a text, else as a number."""
    exact = value if isinstance(value, Decimal) else Decimal(repr(value))
    if unit:
        return f"{exact.normalize():f} {unit}"
    return int(exact) if exact == exact.to_integral_value() else float(exact)


def factor_between(unit: str, other: str) -> float | None:
    """How many of `other` one `unit` is; None if they measure different things."""
    if unit == other:
        return 1.0
    units = next((units for units in _UNITS.values() if {unit, other} <= units.keys()), None)
    return units[unit] / units[other] if units else None


def interpolated(low: float, high: float, place: float, *, by_logarithm: bool) -> float:
    """Number at a place of the unit interval between two ends; by equal steps, or by equal factors."""
    if by_logarithm:
        return exp(log(low) + place * (log(high) - log(low)))
    return low + place * (high - low)


def in_digits(number: float, low: float, high: float) -> float:
    """The number in as many digits as a scenario is given, and no further than two ends."""
    return min(high, max(low, float(f"{number:.{DIGITS}g}")))


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _read(text: str, units: dict[str, float]) -> float:
    number, unit = text.split()
    return float(number) * units[unit]


QUANTITY = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*([a-zA-Z/]*)\s*")
