"""Seconds of programs and nanoseconds of a net."""

from __future__ import annotations


def nanoseconds(seconds: float) -> int:
    """Earliest time of a net with `net.now / 1e9 >= seconds`.

    Set deadlines with it: a program that is woken a rounding error too early arms the same deadline again, for ever.
    Times before the start of the run give 0.
    """
    number = max(int(seconds * 1e9), 0)
    while number / 1e9 < seconds:
        number += 1
    while number and (number - 1) / 1e9 >= seconds:
        number -= 1
    return number
