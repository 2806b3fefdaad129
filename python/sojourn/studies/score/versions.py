"""Variants of a queue manager: itself, with marking, with a queue per flow, or with other parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from sojourn.base.errors import InputError
from sojourn.base.units import format_quantity, quantity, read_quantity
from sojourn.model.aqms.registry import parsed
from sojourn.model.aqms.spelling import param_words


class LackingError(Exception):
    """A queue manager without the requested variant; the text gives the reason."""


def parsed_aqm(aqm: str) -> Mapping[str, Any]:
    """Parse a queue manager with the core; classes and libraries are looked up from the current folder."""
    return parsed(aqm, Path.cwd())


def absolute(aqm: str) -> str:
    """Spelling with absolute paths, so that a study file in any folder finds a user's class or library."""
    return str(parsed_aqm(aqm)["text"])


def plain(aqm: str) -> list[str]:
    """The queue manager itself."""
    return [aqm]


def marking(aqm: str) -> list[str]:
    """With its flag `ecn` on; raises `LackingError` if it has none and does not mark without one."""
    about = parsed_aqm(aqm)
    if about["parameters"].get("ecn") is False:
        return [with_parameter(aqm, "ecn", True)]
    if about["parameters"].get("ecn") or about["name"].partition("(")[0] in MARKS_ANYWAY:
        return [aqm]
    raise LackingError("does not mark")


def marking_or_plain(aqm: str) -> list[str]:
    """With its flag `ecn` on if it can mark, else itself."""
    try:
        return marking(aqm)
    except LackingError:
        return plain(aqm)


def queued(aqm: str) -> list[str]:
    """A queue of it per flow, served round-robin (`fq`); raises `LackingError` if it has queues per flow itself."""
    try:
        return [absolute(f"fq({aqm})")]
    except InputError as error:
        raise LackingError(str(error).partition(";")[0]) from None


def halves(aqm: str) -> list[str]:
    """Itself, then with each numeric parameter halved and doubled; raises `LackingError` if it has none."""
    found = [aqm]
    for name, value in parsed_aqm(aqm)["parameters"].items():
        number = quantity(value)
        if number is None or not number[0] or name in NO_TUNING:
            continue
        try:
            pair = [with_parameter(aqm, name, _times(value, factor)) for factor in (HALF, DOUBLE)]
        except LackingError:  # an integer without a half, or a value outside the version or range
            continue
        if len({aqm, *pair}) == 3:
            found += pair
    if len(found) == 1:
        raise LackingError("has no number to change")
    return found


def parameter_of(aqm: str, changed: str) -> str:
    """Name of the parameter in which a variant of `halves` differs."""
    before, after = (parsed_aqm(text)["parameters"] for text in (aqm, changed))
    return ", ".join(name for name in before if before[name] != after[name])


def _times(value: object, factor: Fraction) -> object:
    """A parameter's value times a factor."""
    amount, unit = read_quantity("parameter", value)
    return format_quantity(amount * factor.numerator / factor.denominator, unit)


HALF, DOUBLE = Fraction(1, 2), Fraction(2)
NO_TUNING = ("limit", "memory_limit", "created", "jiffy", "n", "depth", "divisor", "overhead", "mpu")
"""Sizes of tables and buffers, constants of a kernel, or properties of the link: not for tuning."""


def with_parameter(aqm: str, name: str, value: object) -> str:
    """The queue manager with one parameter changed: its own, or of `fq(NAME)` the inner manager's."""
    words = " ".join(param_words(name, value))
    for text in (f"{aqm} {words}", BRACKET.sub(f" {words})", aqm, count=1)):
        try:
            return absolute(text)
        except InputError as error:
            refused = error
    raise LackingError(str(refused).partition(";")[0])


BRACKET = re.compile(r"\)")
MARKS_ANYWAY = ("dualpi2", "cake", "cake_mq")
"""Queue managers that mark ECN-capable packets and have no flag for it."""

VERSIONS: Mapping[str, Callable[[str], list[str]]] = {
    "plain": plain,
    "marking": marking,
    "marking-or-plain": marking_or_plain,
    "queued": queued,
    "halves": halves,
}
