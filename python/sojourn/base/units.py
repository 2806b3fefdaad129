"""Reading quantities in the core's canonical spelling ("100 s", "10 Mbit/s"), for labels and axes only."""

from __future__ import annotations

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_BITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
_UNITS = {"s": _SECONDS, "bit/s": _BITS, "B": {"B": 1.0}, "packets": {"packets": 1.0}}


def seconds(text: str) -> float:
    """Seconds of a canonical duration."""
    return _read(text, _SECONDS)


def bits_per_second(text: str) -> float:
    """Bit/s of a canonical rate."""
    return _read(text, _BITS)


def highest_rate(text: str) -> float:
    """Bit/s of a canonical rate, or the highest of a schedule ("100 Mbit/s@0 s,10 Mbit/s@50 s")."""
    return max(bits_per_second(step.split("@")[0]) for step in text.split(","))


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


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _read(text: str, units: dict[str, float]) -> float:
    number, unit = text.split()
    return float(number) * units[unit]
