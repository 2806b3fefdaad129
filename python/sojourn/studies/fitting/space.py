"""Free keys of a scenario: numeric ranges, and choices of values; points of the ranges map to a unit cube."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from math import log
from typing import Any

from sojourn.base.dotted import check_distinct, split_paths
from sojourn.base.errors import InputError
from sojourn.base.units import interpolate, round_to_digits

MAX_CHOICES = 64
"""Maximum number of combinations of choices; each is a separate fit."""


@dataclass(frozen=True)
class Range:
    """A number between two ends, both included."""

    path: str
    low: float
    high: float
    unit: str = ""
    whole: bool = False
    """Whether it is an integer, such as a number of flows."""

    @property
    def is_log(self) -> bool:
        """Whether equal steps in the cube are equal factors: true for positive ranges."""
        return self.low > 0

    def at(self, place: float) -> float:
        """Number at a coordinate of the unit interval, rounded as written to the scenario."""
        place = min(1.0, max(0.0, place))
        number = interpolate(self.low, self.high, place, by_logarithm=self.is_log)
        number = round_to_digits(number, self.low, self.high)
        return float(round(number)) if self.whole else number

    def place(self, number: float) -> float:
        """Coordinate of a number in the unit interval."""
        if self.is_log:
            return (log(number) - log(self.low)) / (log(self.high) - log(self.low))
        return (number - self.low) / (self.high - self.low)

    def written(self, number: float) -> Any:
        """The number in the form that a scenario uses."""
        plain: Any = int(number) if self.whole else number
        return f"{Decimal(repr(plain)):f} {self.unit}" if self.unit else plain


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    path: str
    values: tuple[Any, ...]


Free = Range | Choice
Point = tuple[float, ...]
"""One number per range."""


@dataclass(frozen=True)
class Space:
    """The free keys of a fit."""

    ranges: tuple[Range, ...]
    choices: tuple[Choice, ...] = ()

    @property
    def paths(self) -> list[str]:
        """Dotted paths of all keys."""
        written = [*(one.path for one in self.ranges), *(one.path for one in self.choices)]
        return [path for one in written for path in split_paths(one)]

    def combinations(self) -> Iterator[dict[str, Any]]:
        """Every combination of the choices, by path; a single empty one without choices."""
        for values in product(*(one.values for one in self.choices)):
            pairs = zip(self.choices, values, strict=True)
            yield {path: value for one, value in pairs for path in split_paths(one.path)}

    def sets(self, point: Point) -> dict[str, Any]:
        """Values that a point sets, by path."""
        pairs = zip(self.ranges, point, strict=True)
        return {path: one.written(number) for one, number in pairs for path in split_paths(one.path)}

    def point(self, cube: Sequence[float]) -> Point:
        """Numbers at a point of the unit cube."""
        return tuple(one.at(place) for one, place in zip(self.ranges, cube, strict=True))

    def cube(self, point: Point) -> list[float]:
        """Point of the unit cube with these numbers."""
        return [one.place(number) for one, number in zip(self.ranges, point, strict=True)]


def space_of(free: Mapping[str, Any]) -> Space:
    """Space of a table of free keys; raises `InputError` if it has no range."""
    found = [free_key(path, values) for path, values in free.items()]
    ranges = tuple(one for one in found if isinstance(one, Range))
    choices = tuple(one for one in found if isinstance(one, Choice))
    if not ranges:
        raise InputError(
            'free: no range; write e.g. "link.rate" = "1..100 Mbit/s", or compare the choices with a sweep'
        )
    space = Space(ranges, choices)
    check_distinct("free", space.paths)
    if (count := sum(1 for _ in space.combinations())) > MAX_CHOICES:
        raise InputError(f"free: {count} combinations of choices, each of which needs a fit; leave some out")
    return space


def free_key(path: str, values: Any, table: str = "free") -> Free:
    """Parse a free key: `"1..100 Mbit/s"` is a range, a list (as text `"codel, pie"`) a choice."""
    place = f"{table}.{path}"
    if isinstance(values, str) and (match := RANGE.fullmatch(values)):
        return _range(place, path, match)
    listed = [part.strip() for part in values.split(",")] if isinstance(values, str) else values
    if not isinstance(listed, list) or len(listed) < 2 or "" in listed:
        raise InputError(f'{place}: neither a range nor a choice; write e.g. "1..100 Mbit/s", or ["codel", "pie"]')
    if any(value in listed[:at] for at, value in enumerate(listed)):
        raise InputError(f"{place}: a value is given twice; leave one out")
    return Choice(path, tuple(listed))


def _range(place: str, path: str, match: re.Match[str]) -> Range:
    first, first_unit, last, unit = match.groups()
    if first_unit and first_unit != unit:
        raise InputError(f'{place}: its ends have different units; write e.g. "{first}..{last} {first_unit}"')
    low, high = float(first), float(last)
    if low >= high:
        raise InputError(f"{place}: an empty range; write its smaller end first")
    return Range(path, low, high, unit, whole=not unit and first.isdigit() and last.isdigit())


RANGE = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*([a-zA-Z/]*)\s*\.\.\s*(-?\d+(?:\.\d+)?)\s*([a-zA-Z/%]*)\s*")
