"""Profile likelihood over response surfaces: best values, intervals, and keys that are not identifiable.

Deviations are taken to be normal, so twice the log-likelihood ratio is a difference of sums of squared standardised
residuals. A key's profile is the minimum sum over the other keys, for each of its values; its 95 % interval is where
that exceeds the overall minimum by at most the quantile of F with one and the noise's degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sojourn.model.analysis.distributions import f_tail
from sojourn.studies.fitting.surfaces import Array, Box, Surfaces

STEPS = 12
"""Values of a profile on each side of the best one."""
TIED = 4.0
"""A key is tied to others if its interval shrinks by more than this factor when they are held (correlation 0.97)."""
HALVINGS = 12
"""Bisections of an interval's last step: its end is known to 1/49,000 of the way to the box's edge."""

IN_ALL = 12.0
"""Prior information of a key uniform over the cube: the variance of a uniform number is 1/12."""


@dataclass(frozen=True)
class Profile:
    """A key's profile, in coordinates of the unit interval."""

    low: float
    high: float
    low_open: bool
    """Whether the interval reaches the box's lower end."""
    high_open: bool
    curve: tuple[tuple[float, float], ...]
    """Coordinates, and the increase of the minimum sum of squares there."""
    alone: float
    """Width of the interval with all other keys held at their best values."""
    moved: tuple[float, ...]
    """Shift of each key along the profile, from one end of the interval to the other."""
    partners: frozenset[int] = frozenset()
    """Keys that were found to compensate for it."""

    @property
    def width(self) -> float:
        """Width of the interval."""
        return self.high - self.low

    def reaching(self, place: float) -> Profile:
        """The profile with its interval extended to `place`; an end at the range's limit is open."""
        low, high = min(self.low, place), max(self.high, place)
        return replace(
            self, low=low, high=high, low_open=self.low_open or low <= 0.0, high_open=self.high_open or high >= 1.0
        )


class Likelihood:
    """Sums of squared residuals of the used numbers over a box."""

    def __init__(
        self, surfaces: Surfaces, measured: Array, noise: Array, single: Array, seen: list[int], threshold: float
    ) -> None:
        """`noise` is the covariance of the measured numbers; that of the surfaces is added at the best point."""
        self.surfaces = surfaces
        self.box: Box = surfaces.box
        self.measured = measured
        self.noise = noise
        self.single = single
        """Covariance of the numbers of a single run."""
        self.seen = seen
        self.threshold = threshold
        """Maximum increase of the sum within the 95 % interval of one key."""
        self.best = np.clip(self.box.centre, self.box.low, self.box.high)
        for _ in range(2):  # the surfaces' error depends on the position of the optimum
            self._whitening = np.linalg.inv(self._root_at(self.best))
            self.best = self._least({}, [self.best, *self._starts()])
        self._whitening = np.linalg.inv(self._root_at(self.best))
        self.least = self.sum_at(self.best)

    def residuals(self, cube: Array) -> Array:
        """Standardised residuals, simulated minus measured, decorrelated with the covariance at the best point."""
        return np.asarray(self._whitening @ self._left(cube), dtype=float)

    def sum_at(self, cube: Array) -> float:
        """Sum of squared residuals at a point, with the surfaces' uncertainty there: it grows towards a box's edges."""
        return float(np.sum(np.linalg.solve(self._root_at(cube), self._left(cube)) ** 2))

    def slopes(self, cube: Array) -> Array:
        """Derivatives of the residuals at a point, one column per key."""
        return np.asarray(self._whitening @ self.surfaces.slopes(cube)[self.seen], dtype=float)

    def covariance(self) -> Array:
        """Covariance of the keys in the cube; undetermined directions have that of the whole range."""
        slopes = self.slopes(self.best)
        found: Array = np.linalg.inv(slopes.T @ slopes + IN_ALL * np.eye(slopes.shape[1]))
        return found

    def profile(self, key: int) -> Profile:
        """Profile of a key."""
        ends, opened, curve, shifts = [], [], [(float(self.best[key]), 0.0)], []
        for edge in (self.box.low[key], self.box.high[key]):
            end, is_open, part, shift = self._side(key, float(edge))
            ends.append(end)
            opened.append(is_open)
            curve += part
            shifts.append(shift)
        moved = tuple(float(one) for one in np.abs(shifts[1] - shifts[0]))
        return Profile(ends[0], ends[1], opened[0], opened[1], tuple(sorted(curve)), self._alone(key), moved)

    def _side(self, key: int, edge: float) -> tuple[float, bool, list[tuple[float, float]], Array]:
        """Profile from the best point to an edge: the point where the sum exceeds the threshold, and the shift."""
        start = float(self.best[key])
        curve: list[tuple[float, float]] = []
        at = self.best
        before = start
        for place in np.linspace(start, edge, STEPS + 1)[1:]:
            if abs(edge - start) < 1e-9:
                break
            beyond = self._least({key: float(place)}, [at, self.best])
            grown = self.sum_at(beyond) - self.least
            curve.append((float(place), grown))
            if grown > self.threshold:
                end = crossing(partial(self._grown, key, at), before, float(place), self.threshold)
                return end, False, curve, self._least({key: end}, [at])
            at, before = beyond, float(place)
        return edge, True, curve, at

    def _grown(self, key: int, start: Array, place: float) -> float:
        return self.sum_at(self._least({key: place}, [start])) - self.least

    def _alone(self, key: int) -> float:
        """Width of the interval with the other keys held."""
        ends = []
        for edge in (float(self.box.low[key]), float(self.box.high[key])):

            def grown(place: float) -> float:
                cube = self.best.copy()
                cube[key] = place
                return self.sum_at(cube) - self.least

            places = np.linspace(float(self.best[key]), edge, STEPS + 1)
            past = next((at for at in range(1, len(places)) if grown(float(places[at])) > self.threshold), None)
            ends.append(
                edge if past is None else crossing(grown, float(places[past - 1]), float(places[past]), self.threshold)
            )
        return ends[1] - ends[0]

    def _least(self, held: dict[int, float], starts: list[Array]) -> Array:
        """The best point of the box with some keys held, from several starting points."""
        from scipy.optimize import least_squares

        free = [key for key in range(len(self.box.centre)) if key not in held]

        def whole(part: Array) -> Array:
            cube = np.empty(len(self.box.centre))
            cube[free] = part
            for key, place in held.items():
                cube[key] = place
            return cube

        if not free:
            return whole(np.empty(0))
        low, high = self.box.low[free], self.box.high[free]
        inner = 1e-9 * (high - low)
        found = [
            least_squares(
                lambda part: self.residuals(whole(part)),
                np.clip(one[free], low + inner, high - inner),
                jac=lambda part: self.slopes(whole(part))[:, free],
                bounds=(low, high),
            )
            for one in starts
        ]
        return whole(min(found, key=lambda one: float(one.cost)).x)

    def _starts(self) -> list[Array]:
        """Starting points of least squares besides the centre: halfway to two corners."""
        low, high = self.box.low, self.box.high
        return [low + share * (high - low) for share in (0.25, 0.75)]

    def _left(self, cube: Array) -> Array:
        return (self.surfaces.at(cube) - self.measured)[self.seen]

    def _root_at(self, cube: Array) -> Array:
        """Cholesky factor of the residuals' covariance at a point."""
        both = (self.noise + self.surfaces.error(cube))[np.ix_(self.seen, self.seen)]
        return np.asarray(np.linalg.cholesky(both), dtype=float)


def probability(sum_of_squares: float, degrees: int, free: int) -> float | None:
    """Probability that numbers explained by the scenario have a larger sum; None without degrees of freedom."""
    if degrees < 1:
        return None
    return f_tail(degrees, free, sum_of_squares / degrees)


def crossing(grown: Callable[[float], float], inside: float, outside: float, threshold: float) -> float:
    """First point between two others where a function exceeds `threshold`, by bisection: it need not be smooth."""
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        if grown(middle) > threshold:
            outside = middle
        else:
            inside = middle
    return (inside + outside) / 2
