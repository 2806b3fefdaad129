"""Sentences of a gate, each measured on one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sojourn.base.errors import InputError
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies import sentences

T = TypeVar("T")
World = Scenario | Mapping[str, Any]
"""A scenario, or the canonical one of a record."""


@dataclass(frozen=True)
class Sides:
    """Both sides of a comparison in one run; NaN if the run lacks the number."""

    text: str
    left: float
    right: float
    unit: str


@dataclass(frozen=True)
class Measured:
    """A sentence in one run."""

    holds: bool
    margin: float
    """Positive if it holds; the larger, the better."""
    sides: tuple[Sides, ...]


@dataclass(frozen=True)
class Budgeted:
    """A sentence about one run."""

    sentence: sentences.Sentence

    def measure(self, run: sentences.Run) -> Measured:
        """Margin and both sides of every comparison."""
        margin = self.sentence.margin([run])
        pairs = zip(self.sentence.comparisons, self.sentence.sides([run]), strict=True)
        return Measured(margin > 0, margin, tuple(Sides(one.text, *sides, one.unit) for one, sides in pairs))


def budgeted(text: str, place: str, world: World) -> Budgeted:
    """Parse a sentence; raises `InputError` that begins with `place`."""
    return Budgeted(_of(world, lambda: sentences.parse(text, place, [world])))


def expression(text: str, place: str, world: World) -> sentences.Expression:
    """Parse an expression; raises `InputError` that begins with `place`."""
    return _of(world, lambda: sentences.expression(text, place, world))


def evidence_of_record(world: Mapping[str, Any], summary: Mapping[str, Any], histogram: Any) -> sentences.Run:
    """The record of a run; raises `InputError` if it is damaged."""
    return _of(world, lambda: sentences.evidence_of_record(world, summary, histogram))


def _of(world: World, read: Callable[[], T]) -> T:
    """Result of `read`; the canonical scenario of a record may be damaged in any way."""
    try:
        return read()
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        if isinstance(world, Scenario) or isinstance(error, InputError):
            raise
        raise InputError("scenario: not a canonical one; run the tests again with the same sojourn-net") from None
