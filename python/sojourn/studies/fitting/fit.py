"""The fit: points over the whole ranges, boxes that close in on the best point, response surfaces in the last box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from sojourn.base.errors import MissingError
from sojourn.studies.fitting.data import Data
from sojourn.studies.fitting.likelihood import Likelihood, Profile, probability
from sojourn.studies.fitting.search import Search, Simulate
from sojourn.studies.fitting.space import Point
from sojourn.studies.fitting.surfaces import Array, Box
from sojourn.studies.fitting.valley import follow_valleys


@dataclass(frozen=True)
class FitResult:
    """The best values for one combination of the choices, with their likelihood and profiles."""

    choices: Mapping[str, Any]
    point: Point
    likelihood: Likelihood
    profiles: tuple[Profile, ...]
    noise: Array
    """Covariance of the measured numbers."""
    free: int
    """Degrees of freedom of the simulation's noise."""
    tried: int
    """Number of simulated points."""
    closed: bool
    """Whether the boxes shrank to their intended size."""

    @property
    def least(self) -> float:
        """Sum of the squared standardised residuals."""
        return self.likelihood.least


def fit(
    data: Data, choices: Mapping[str, Any], groups: Sequence[Sequence[int]], simulate: Simulate, *, seed: int = 1
) -> FitResult:
    """Fit the ranges for fixed choices; `groups` has the indices of numbers that come from the same runs."""
    if find_spec("scipy") is None:
        raise MissingError("a fit needs SciPy, which is missing; install it: pip install sojourn[fit]")
    search = Search(data, choices, groups, simulate, seed)
    search.over_all()
    found: list[FitResult] = []
    for box in search.first_boxes():
        found.append(_from(search, box))
        degrees = len(data.seen) - len(data.space.ranges)
        chance = probability(found[-1].least, degrees, search.free)
        if chance is None or chance >= MIN_P:
            break
    best = min(found, key=lambda one: one.least)
    profiles = follow_valleys(search, best.likelihood, best.profiles)
    return replace(best, profiles=profiles, tried=len(search.tried))


MIN_P = 1e-3
"""A smaller p means that the search ended in a local optimum, or that the scenario does not explain the numbers."""


def _from(search: Search, box: Box) -> FitResult:
    """Search with shrinking boxes, starting from a first box."""
    closed = False
    for _ in range(MAX_BOXES):
        likelihood = search.in_box(box, POINTS)
        following = search.next_box(likelihood)
        if following is None:
            closed = True
            break
        box = following
    for _ in range(4):
        likelihood = search.in_box(box, 2 * POINTS)
        profiles = tuple(likelihood.profile(key) for key in range(len(box.centre)))
        wider = _wider(likelihood, profiles)
        if wider is None:
            break
        box = wider
    point = search.space.point(likelihood.best.tolist())
    return FitResult(search.choices, point, likelihood, profiles, search.noise, search.free, len(search.tried), closed)


MAX_BOXES = 14
"""Maximum number of boxes; the last one is used as it is."""
POINTS = 2
"""Points of a box per term of its polynomials."""


def _wider(likelihood: Likelihood, profiles: Sequence[Profile]) -> Box | None:
    """A wider box if an interval is cut off by this box but not by its range; None if there is none."""
    box = likelihood.box
    short = [
        (profile.low_open and box.low[key] > 0) or (profile.high_open and box.high[key] < 1)
        for key, profile in enumerate(profiles)
    ]
    if not any(short):
        return None
    return Box(likelihood.best, np.where(short, np.minimum(1.0, 1.8 * box.half), box.half))
