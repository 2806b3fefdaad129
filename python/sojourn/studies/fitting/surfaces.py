"""Response surfaces: a simulation's numbers as a function of its keys, from noisy runs.

In a box of the unit cube every number is fitted by a quadratic polynomial, by least squares over points that were
simulated with different seeds, so that noise averages out over the points. (J. P. C. Kleijnen: Design and Analysis of
Simulation Experiments, 2nd ed., 2015, chapters 2 and 3.) The polynomials' lack of fit counts as noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Box:
    """A box of the unit cube: centre and half widths."""

    centre: Array
    half: Array

    @property
    def low(self) -> Array:
        """Lower ends, within the cube."""
        return np.maximum(0.0, self.centre - self.half)

    @property
    def high(self) -> Array:
        """Upper ends, within the cube."""
        return np.minimum(1.0, self.centre + self.half)

    def holds(self, cube: Array) -> bool:
        """Whether a point lies in the box."""
        slack = 1e-9
        return bool(((cube >= self.low - slack) & (cube <= self.high + slack)).all())


class Surfaces:
    """Polynomials of all numbers over a box."""

    def __init__(self, box: Box, cubes: Array, means: Array, groups: Sequence[Sequence[int]]) -> None:
        """Fit the means (a row per point, a column per number); numbers of a group come from the same runs."""
        self.box = box
        self.groups = groups
        self.quadratic = len(cubes) >= terms(cubes.shape[1]) + SPARE
        design = self._design(cubes)
        inverse = np.linalg.pinv(design, rcond=1e-8)
        self._coefficients: Array = inverse @ means
        self._spread: Array = inverse @ inverse.T
        left = means - design @ self._coefficients
        self.squares = left.T @ left
        """Squares and products of the means' residuals."""
        self.free = max(1, len(cubes) - int(np.linalg.matrix_rank(design, tol=1e-8)))
        """Their degrees of freedom."""
        self.covariance = in_groups(self.squares / self.free, groups, self.free)
        """Covariance of a point's means about the polynomials."""

    def at(self, cube: Array) -> Array:
        """Numbers at a point."""
        found: Array = np.dot(self._design(cube[None, :])[0], self._coefficients)
        return found

    def error(self, cube: Array) -> Array:
        """Covariance of the estimated numbers at a point."""
        row = self._design(cube[None, :])[0]
        found: Array = float(row @ self._spread @ row) * self.covariance
        return found

    def slopes(self, cube: Array) -> Array:
        """Derivatives at a point, one row per number."""
        places = (cube - self.box.centre) / self.box.half
        unit = np.eye(len(places))
        rows = [np.zeros((len(places), 1)), unit]
        if self.quadratic:
            one, other = np.triu_indices(len(places))
            rows.append(unit[:, one] * places[other] + places[one] * unit[:, other])
        found: Array = (np.hstack(rows) @ self._coefficients / self.box.half[:, None]).T
        return found

    def _design(self, cubes: Array) -> Array:
        places = (cubes - self.box.centre) / self.box.half
        columns = [np.ones((len(places), 1)), places]
        if self.quadratic:
            one, other = np.triu_indices(places.shape[1])
            columns.append(places[:, one] * places[:, other])
        return np.hstack(columns)


SPARE = 3
"""Points beyond the number of terms that a quadratic polynomial needs; with fewer it is linear."""


def terms(keys: int) -> int:
    """Number of terms of a quadratic polynomial."""
    return (keys + 1) * (keys + 2) // 2


def noise_of(runs: Sequence[Array], surfaces: Surfaces) -> tuple[Array, int]:
    """Covariance of single runs about the polynomials, and its degrees of freedom; all points have equally many runs.

    It pools the variation between runs of a point with the deviation of the points' means from the polynomials. Runs of
    a point alone would not suffice: a quantile of delays in whole packet times is equal in all of them, and differs by
    a packet time at the next point.
    """
    parts = [one - one.mean(axis=0) for one in runs]
    free = sum(len(one) - 1 for one in parts) + surfaces.free
    squares = np.sum([one.T @ one for one in parts], axis=0) + len(runs[0]) * surfaces.squares
    return in_groups(squares / free, surfaces.groups, free), free


def in_groups(covariance: Array, groups: Sequence[Sequence[int]], free: int) -> Array:
    """A covariance without correlations between numbers of different runs.

    Correlations are shrunk as if there were as many additional, uncorrelated observations as numbers in the group: with
    few runs the matrix would claim to know some combination of the numbers far too well.
    """
    found = np.diag(np.diag(covariance)).astype(float)
    for group in groups:
        kept = free / (free + len(group))
        for one in group:
            for other in group:
                if one != other:
                    found[one, other] = kept * covariance[one, other]
    return found
