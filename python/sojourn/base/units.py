"""Quantities as text: in the core's canonical form ("100 s", "10 Mbit/s") and as users write them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from math import exp, log
from typing import Any

from sojourn.base.errors import InputError

DIGITS = 6
"""Significant digits of drawn values, so that the printed value reproduces the run."""
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
    """Values and start times of a schedule ("100 Mbit/s@0 s,10 Mbit/s@50 s"); a plain value has the start ""."""
    steps = [step.partition("@") for step in text.split(",")]
    return [(value.strip(), begins.strip()) for value, _, begins in steps]


def initial_value(text: str) -> str:
    """First value of a schedule, or the plain value."""
    return schedule(text)[0][0]


def limit_text(limit: str | Sequence[str]) -> str:
    """All limits of a queue, one or a list, in the form that a scenario reads: "30 packets + 20000 B"."""
    return limit if isinstance(limit, str) else " + ".join(limit)


def rates(text: str) -> list[float]:
    """Bit/s of a canonical rate, or of each step of a schedule."""
    return [bits_per_second(rate) for rate, _ in schedule(text)]


def quantity(value: object) -> tuple[float, str] | None:
    """Number and base unit (s, bit/s, B, packets or "") of a canonical value; None if it is no number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value), ""
    number, _, unit = value.partition(" ") if isinstance(value, str) else ("", "", "")
    for base, units in _UNITS.items():
        if unit in units and _is_number(number):
            return float(number) * units[unit], base
    return None


def read_quantity(place: str, written: Any) -> tuple[Decimal, str]:
    """Number and unit ("" if there is none) of a user's value at `place`; raises `InputError` for anything else."""
    match = QUANTITY.fullmatch(written if isinstance(written, str) else str(written))
    if isinstance(written, bool) or match is None:
        raise InputError(f'{place}: {json.dumps(written)} is not a number, with or without a unit; write e.g. "5 ms"')
    return Decimal(match[1]), match[2]


def format_quantity(value: Decimal | float, unit: str) -> Any:
    """Format a quantity for a scenario: text if it has a unit, otherwise a number."""
    exact = value if isinstance(value, Decimal) else Decimal(repr(value))
    if unit:
        return f"{exact.normalize():f} {unit}"
    return int(exact) if exact == exact.to_integral_value() else float(exact)


def factor_between(unit: str, other: str) -> float | None:
    """Factor from `unit` to `other`; None if they are not commensurable."""
    if unit == other:
        return 1.0
    units = next((units for units in _UNITS.values() if {unit, other} <= units.keys()), None)
    return units[unit] / units[other] if units else None


def interpolate(low: float, high: float, fraction: float, *, by_logarithm: bool) -> float:
    """Interpolate between two bounds at `fraction` (0 to 1), linearly or by logarithm."""
    if by_logarithm:
        return exp(log(low) + fraction * (log(high) - log(low)))
    return low + fraction * (high - low)


def round_to_digits(number: float, low: float, high: float) -> float:
    """Round to `DIGITS` significant digits, within [low, high]."""
    return min(high, max(low, float(f"{number:.{DIGITS}g}")))


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _read(text: str, units: dict[str, float]) -> float:
    number, unit = text.split()
    return float(number) * units[unit]


QUANTITY = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*([a-zA-Z/]*)\s*")
