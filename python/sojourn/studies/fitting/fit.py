"""The fit: points over all ranges, boxes that close in on the best one, response surfaces in the last of them."""

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
from sojourn.studies.fitting.valley import walked


@dataclass(frozen=True)
class Fitted:
    """The best values for one combination of the choices, and what is known of them."""

    choices: Mapping[str, Any]
    point: Point
    likelihood: Likelihood
    profiles: tuple[Profile, ...]
    noise: Array
    """Covariance of the measured numbers."""
    free: int
    """Degrees of freedom of the simulation's noise."""
    tried: int
    """Points that were simulated."""
    closed: bool
    """Whether the boxes closed in as far as they should."""

    @property
    def least(self) -> float:
        """Sum of the squared standardised residuals."""
        return self.likelihood.least


def fit(
    data: Data, choices: Mapping[str, Any], groups: Sequence[Sequence[int]], simulate: Simulate, *, seed: int = 1
) -> Fitted:
    """Fit the ranges, with the choices made; `groups` has the places of numbers that come from the same runs."""
    if find_spec("scipy") is None:
        raise MissingError("a fit needs SciPy, which is missing; install it: pip install sojourn[fit]")
    search = Search(data, choices, groups, simulate, seed)
    search.over_all()
    found: list[Fitted] = []
    for box in search.first_boxes():
        found.append(_from(search, box))
        degrees = len(data.seen) - len(data.space.ranges)
        chance = probability(found[-1].least, degrees, search.free)
        if chance is None or chance >= LOST:
            break
    best = min(found, key=lambda one: one.least)
    profiles = walked(search, best.likelihood, best.profiles)
    return replace(best, profiles=profiles, tried=len(search.tried))


LOST = 1e-3
"""Where the numbers are less probable than this a search has ended in a wrong place, or there is no right one."""


def _from(search: Search, box: Box) -> Fitted:
    """Search from a first box on, with boxes that close in."""
    closed = False
    for _ in range(MOST_BOXES):
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
    return Fitted(search.choices, point, likelihood, profiles, search.noise, search.free, len(search.tried), closed)


MOST_BOXES = 14
"""After so many the last box is taken as it is."""
POINTS = 2
"""Points of a box, for each term of its polynomials."""


def _wider(likelihood: Likelihood, profiles: Sequence[Profile]) -> Box | None:
    """A wider box where an interval left this one before it ended, and the range goes on; None if there is no such."""
    box = likelihood.box
    short = [
        (profile.low_open and box.low[key] > 0) or (profile.high_open and box.high[key] < 1)
        for key, profile in enumerate(profiles)
    ]
    if not any(short):
        return None
    return Box(likelihood.best, np.where(short, np.minimum(1.0, 1.8 * box.half), box.half))
