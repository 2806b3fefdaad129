"""Pairs of keys that compensate for each other: how far they can, by dedicated simulations.

If only a sum or a product of two keys matters, such as two delays on one path, the good points form a valley that bends
through the whole cube. Response surfaces do not follow it: their noise and curvature make it end. So the valley is
traced: one key is moved step by step and the best value of the other one is searched, with the same seeds everywhere,
until the sum of squares exceeds its limit. Without a valley this happens after the first step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from sojourn.studies.fitting.likelihood import Likelihood, Profile
from sojourn.studies.fitting.search import Search
from sojourn.studies.fitting.surfaces import Array

STEP = 0.15
"""Steps along the valley, relative to a range."""
LOOKS = 9
"""Values over the other key's whole range that are tried at each step, before those around the best of them."""
FIRST_SEED = 700_000
"""First seed of these runs; no other part of a fit uses them."""
MIN_RUNS, MAX_RUNS = 4, 8
"""Minimum and maximum runs per point."""
LITTLE = 0.25
"""Runs are added until the variance of their mean is this share of the measured numbers' variance."""


@dataclass(frozen=True)
class WalkEnd:
    """End of a walk along the valley."""

    place: float
    """Position of the key."""
    other: float
    """Position of the other key."""
    made_up: int
    """Steps that were possible only because the other key moved."""


class Walk:
    """Sums of squares by simulation, near a best point."""

    def __init__(self, search: Search, likelihood: Likelihood) -> None:
        """Choose the number of runs per point."""
        self.search = search
        self.likelihood = likelihood
        self.seen = np.ix_(likelihood.seen, likelihood.seen)
        measured, single = np.diag(likelihood.noise[self.seen]), np.diag(likelihood.single[self.seen])
        self.runs = int(np.clip(np.ceil(np.max(single / (LITTLE * measured))), MIN_RUNS, MAX_RUNS))
        self.covariance = (likelihood.noise + likelihood.single / self.runs)[self.seen]
        self.most = self.sums([likelihood.best])[0] + likelihood.threshold
        """Maximum sum of a point in the valley."""

    def sums(self, cubes: Sequence[Array]) -> list[float]:
        """Sum of squares of each point; infinite if runs give no numbers."""
        seeds = range(FIRST_SEED, FIRST_SEED + self.runs)
        found = []
        for one in self.search.try_all(np.array(cubes), [seeds] * len(cubes)):
            left = (one.mean - self.likelihood.measured)[self.likelihood.seen]
            total = float(left @ np.linalg.solve(self.covariance, left))
            found.append(total if np.isfinite(total) else float("inf"))
        return found

    def end(self, key: int, other: int, sign: int) -> WalkEnd:
        """Walk from the best point, the key upwards or downwards."""
        at = self.likelihood.best.copy()
        made_up = 0
        # At an end of the range there is no step left.
        while abs((place := float(np.clip(at[key] + sign * STEP, 0.0, 1.0))) - at[key]) >= 1e-3:
            best, sums = self._best(np.where(np.arange(len(at)) == key, place, at), other)
            if min(sums) > self.most:
                break
            made_up += sums[0] > self.most
            at = best
        return WalkEnd(float(at[key]), float(at[other]), made_up)

    def _best(self, cube: Array, other: int) -> tuple[Array, list[float]]:
        """The best point with the other key free, and the sums of all tried points, the starting point first."""
        places, sums = [float(cube[other])], self.sums([cube])

        def look(at: Sequence[float]) -> None:
            new = [float(place) for place in np.clip(at, 0.0, 1.0)]
            places.extend(new)
            sums.extend(self.sums([np.where(np.arange(len(cube)) == other, place, cube) for place in new]))

        look(np.linspace(0, 1, LOOKS).tolist())
        for part in (2, 4, 8):
            middle = places[int(np.argmin(sums))]
            look([middle + side / part / (LOOKS - 1) for side in (-1, 1)])
        best = cube.copy()
        best[other] = places[int(np.argmin(sums))]
        return best, sums


def follow_valleys(search: Search, likelihood: Likelihood, profiles: tuple[Profile, ...]) -> tuple[Profile, ...]:
    """The profiles, widened along valleys, and with the keys that compensate for each other."""
    if len(profiles) < 2:
        return profiles
    found, walk = list(profiles), Walk(search, likelihood)
    for pair in combinations(range(len(found)), 2):
        made_up = 0
        # If one key makes up most of their combined effect, its small steps are large ones of the other; try both.
        for key, other in (pair, pair[::-1]):
            ends = [walk.end(key, other, sign) for sign in (-1, 1)]
            made_up += sum(end.made_up for end in ends)
            if not made_up:
                break
            for end in ends:
                found[key] = found[key].reaching(end.place)
                found[other] = found[other].reaching(end.other)
        if made_up > 1:
            for one, beside in (pair, pair[::-1]):
                found[one] = replace(found[one], partners=found[one].partners | {beside})
    return tuple(found)
