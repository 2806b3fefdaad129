"""Simplifies a found point while it satisfies the condition: fewer flows, rounder values, shorter time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from math import ceil
from typing import Any

from sojourn.base.units import format_quantity, read_quantity, seconds
from sojourn.model.scenarios.draw import Choice, NumberRange
from sojourn.studies.hunting.space import Point, Space
from sojourn.studies.hunting.trials import Trials

MIN_SHARE = 1 / 3
"""Minimum share of the statistics window that a shorter run keeps."""


@dataclass
class Shrinker:
    """Tries simpler points."""

    trials: Trials
    seeds: Sequence[int]
    """Seeds that must satisfy the condition: the first one, and all but one of the others."""
    groups: frozenset[int]
    """Flow groups that the condition names; group numbers up to the last of them are kept."""
    most: int = 300
    """Maximum number of points to try."""
    tried: int = 0
    kept: list[Point] = field(default_factory=list)
    """Points that satisfied the condition, each simpler than the one before."""
    done: bool = False
    """Whether nothing simpler was left to try."""
    _seen: set[str] = field(default_factory=set)
    _full_s: float = 0.0
    """Length of the first point's run."""

    def run(self, point: Point) -> Point:
        """Return the simplest point reached."""
        self._full_s = seconds(self.trials.space.scenario(point).document["duration"])
        while self.tried < self.most:
            simpler = self._first(point)
            if simpler is None:
                self.done = True
                return point
            self.kept.append(simpler)
            point = simpler
        return point

    def _first(self, point: Point) -> Point | None:
        """First simpler point that satisfies the condition."""
        for candidate in self.candidates(point):
            key = repr(
                (sorted(self.trials.space.paths(candidate).items(), key=str), candidate.dropped, candidate.duration)
            )
            if key in self._seen:
                continue
            self._seen.add(key)
            if self.tried >= self.most:
                return None
            self.tried += 1
            if self.trials.holds(candidate, self.seeds):
                return candidate
        return None

    def candidates(self, point: Point) -> Iterator[Point]:
        """Simpler points, those that save the most work first."""
        for kind in (
            self._fewer_groups,
            self._shorter,
            self._fewer,
            self._left_out,
            self._simpler_options,
            self._rounder,
        ):
            yield from kind(point)

    def _fewer_groups(self, point: Point) -> Iterator[Point]:
        """Remove a flow group that the condition does not need."""
        count = len(self.trials.space.document.get("flows", []))
        for group in range(count - 1, max(self.groups, default=-1), -1):
            if group not in point.dropped and count - len(point.dropped) > 1:
                yield replace(point, dropped=point.dropped | {group})

    def _shorter(self, point: Point) -> Iterator[Point]:
        """Shorten the run, but keep enough of the statistics window for the condition."""
        document = self.trials.space.scenario(point).document
        length = seconds(document["duration"])
        begins = 0.0 if document["warmup"] == "auto" else seconds(document["warmup"])
        least = begins + (self._full_s - begins) * MIN_SHARE
        for share in (0.0, 0.5, 0.8):
            shorter = least + (length - least) * share
            rounded = ceil(shorter) if shorter >= 2 else ceil(10 * shorter) / 10
            if least <= rounded < length:
                yield replace(point, duration=f"{rounded:g} s")

    def _fewer(self, point: Point) -> Iterator[Point]:
        """Reduce an integer, such as a number of flows."""
        for name, leaf in self._active(point):
            if isinstance(leaf, NumberRange) and leaf.whole and not leaf.unit:
                value, low = int(point.values[name]), int(leaf.low)
                for smaller in dict.fromkeys((low, (low + value) // 2, low + (value - low) * 3 // 4, value - 1)):
                    if low <= smaller < value:
                        yield point.with_value(name, smaller)

    def _left_out(self, point: Point) -> Iterator[Point]:
        """Remove a key that the scenario does not need."""
        for path in self.trials.space.paths(point):
            yield replace(point, left_out=point.left_out | {path})

    def _simpler_options(self, point: Point) -> Iterator[Point]:
        """Choose an earlier option; for tables also with values of the same unit from the current one."""
        for name, leaf in self._active(point):
            if isinstance(leaf, Choice):
                for option in leaf.options[: leaf.options.index(point.values[name])]:
                    chosen = point.with_value(name, option)
                    yield chosen
                    yield from self._carried_over(point, chosen)

    def _carried_over(self, point: Point, chosen: Point) -> Iterator[Point]:
        """The option with a value of the current one, if both are ranges of the same unit."""
        space = self.trials.space
        before, after = set(space.active(point)), set(space.active(chosen))
        for new in sorted(after - before):
            for old in sorted(before - after):
                if _unit(space, new) is not None and _unit(space, new) == _unit(space, old):
                    yield chosen.with_value(new, point.values[old])

    def _rounder(self, point: Point) -> Iterator[Point]:
        """Values with one digit, then with two: first the nearer one, then the one on the other side."""
        for digits in (1, 2):
            for name, leaf in self._active(point):
                if isinstance(leaf, NumberRange):
                    for rounded in rounder(point.values[name], digits):
                        yield point.with_value(name, rounded)

    def _active(self, point: Point) -> Iterator[tuple[str, Any]]:
        """Leaves that affect something present."""
        leaves = self.trials.space.leaves
        present = set(self.trials.space.active(point))
        gone = tuple(f"flows.{group}." for group in point.dropped)
        for name in sorted(present):
            if not (gone and name.startswith(gone)) and name not in point.left_out:
                yield name, leaves[name]


def rounder(value: Any, digits: int) -> list[Any]:
    """The two quantities or numbers around a value with `digits` significant digits; none if it has no more."""
    number, unit = read_quantity("value", value)
    around = {Context(prec=digits, rounding=mode).create_decimal(number) for mode in (ROUND_FLOOR, ROUND_CEILING)}
    if number in around:
        return []
    return [format_quantity(one, unit) for one in sorted(around, key=lambda one: (abs(one - number), one)) if one > 0]


def _unit(space: Space, name: str) -> str | None:
    leaf = space.leaves[name]
    return leaf.unit if isinstance(leaf, NumberRange) else None
