"""Reading quantities in the core's canonical spelling ("100 s", "10 Mbit/s"), for labels and axes only."""

from __future__ import annotations

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_BITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}


def seconds(text: str) -> float:
    """Seconds of a canonical duration."""
    return _read(text, _SECONDS)


def bits_per_second(text: str) -> float:
    """Bit/s of a canonical rate."""
    return _read(text, _BITS)


def highest_rate(text: str) -> float:
    """Bit/s of a canonical rate, or the highest of a schedule ("100 Mbit/s@0 s,10 Mbit/s@50 s")."""
    return max(bits_per_second(step.split("@")[0]) for step in text.split(","))


def _read(text: str, units: dict[str, float]) -> float:
    number, unit = text.split()
    return float(number) * units[unit]
