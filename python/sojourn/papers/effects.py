"""Effect of each value of each assumption on a set-up's score, averaged over the other assumptions.

A linear model of the score with a term for every value of every assumption except the package's own, fitted by least
squares over random set-ups, so that the terms are hardly correlated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, Protocol

from sojourn.model.analysis.distributions import t_quantile
from sojourn.papers.setup import spelled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CONFIDENCE = 0.95


class ScoredSetup(Protocol):
    """A set-up with a score."""

    @property
    def setup(self) -> Mapping[str, Any]:
        """A value for every assumption."""

    def score(self, claims: frozenset[str], /) -> float:
        """Score on some claims."""


class Effects:
    """Coefficients of the model, their covariance, and the index of each value."""

    def __init__(
        self,
        space: Mapping[str, Sequence[Any]],
        places: Mapping[tuple[str, str], int | None],
        means: NDArray[np.float64],
        covariance: NDArray[np.float64] | None,
        t: float,
    ) -> None:
        """Wrap a model; `effects_of` fits one."""
        self._space = space
        self._places = places
        self._means = means
        self._covariance = covariance
        self._t = t

    def of(self, name: str, value: Any) -> tuple[float | None, float | None]:
        """Effect of a value on the score, and half width of its 95 % interval; (0, None) for the package's value.

        None if there are too few set-ups for intervals, and for a value in none of them.
        """
        if self._covariance is None or (name, spelled(value)) not in self._places:
            return None, None
        place = self._places[name, spelled(value)]
        if place is None:
            return 0.0, None
        return float(self._means[place]), self._t * sqrt(self._covariance[place, place])

    def determined(self, name: str) -> str | None:
        """Value that beats every other one by more than the interval of their difference; None if there is none."""
        if self._covariance is None or any((name, spelled(value)) not in self._places for value in self._space[name]):
            return None
        best = self._best(name)
        for value in self._space[name]:
            difference = self._mean(name, best) - self._mean(name, value)
            if spelled(value) != spelled(best) and difference <= self._t * sqrt(self._variance(name, best, value)):
                return None
        return spelled(best)

    def best(self) -> dict[str, Any]:
        """The set-up with the highest score in the model: the best value of each assumption."""
        return {name: self._best(name) for name in self._space}

    def _best(self, name: str) -> Any:
        return max(self._space[name], key=lambda value: self._mean(name, value))

    def _mean(self, name: str, value: Any) -> float:
        if (name, spelled(value)) not in self._places:
            return -inf
        place = self._places[name, spelled(value)]
        return 0.0 if place is None else float(self._means[place])

    def _variance(self, name: str, one: Any, other: Any) -> float:
        """Variance of the difference of two coefficients."""
        assert self._covariance is not None
        signs = ((self._places[name, spelled(one)], 1), (self._places[name, spelled(other)], -1))
        parts = [(place, sign) for place, sign in signs if place is not None]
        return float(sum(s * t * self._covariance[a, b] for a, s in parts for b, t in parts))


def effects_of(space: Mapping[str, Sequence[Any]], at_random: Sequence[ScoredSetup], claims: frozenset[str]) -> Effects:
    """Fit the model of the score on some claims; with too few set-ups for intervals, the minimum-norm solution."""
    import numpy as np

    places: dict[tuple[str, str], int | None] = {}
    columns = 1  # the first is the constant
    for name, values in space.items():
        drawn = {spelled(one.setup[name]) for one in at_random}
        for value in values:
            if value == values[0] or spelled(value) in drawn:
                places[name, spelled(value)] = None if value == values[0] else columns
                columns += value != values[0]
    rows = np.zeros((len(at_random), columns))
    rows[:, 0] = 1.0
    for row, one in zip(rows, at_random, strict=True):
        for name, value in one.setup.items():
            if (place := places[name, spelled(value)]) is not None:
                row[place] = 1.0
    scores = np.array([one.score(claims) for one in at_random])
    means, _, rank, _ = np.linalg.lstsq(rows, scores, rcond=None)
    free = len(scores) - columns
    if free < 1 or rank < columns:
        return Effects(space, places, means, None, 0.0)
    variance = float(np.sum((scores - rows @ means) ** 2)) / free
    covariance = variance * np.linalg.inv(rows.T @ rows)
    return Effects(space, places, means, covariance, t_quantile(free, 0.5 + CONFIDENCE / 2))
