"""Pairs of keys that make up for each other: how far they can, by simulations of their own.

Where only a sum or a product of two keys counts, as of two delays on one path, the good places are a valley that bends
through the whole cube. Response surfaces do not follow it: their noise and their curvature say that it ends. So it is
looked for: step by step one key is set and the best value of the other one is tried for, with the same seeds
everywhere, until the sum of squares has grown too far. Where there is no valley that is so after the first step.
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
"""Steps along the valley, in shares of a range."""
LOOKS = 9
"""Values over the other key's whole range that are tried at each step, before those around the best of them."""
FIRST_SEED = 700_000
"""Seeds of these runs: no other part of a fit has them."""
FEWEST, MOST = 4, 8
"""Runs of each point."""
LITTLE = 0.25
"""The runs of a point are so many that the variance of their mean is this share of that of the measured numbers."""


@dataclass(frozen=True)
class End:
    """Where a walk ended."""

    place: float
    """The key's place there."""
    other: float
    """The other key's."""
    made_up: int
    """Steps that the other key made good: without its move they would have been too far."""


class Walk:
    """Sums of squares by simulation, near a best point."""

    def __init__(self, search: Search, likelihood: Likelihood) -> None:
        """Choose how many runs each point has."""
        self.search = search
        self.likelihood = likelihood
        self.seen = np.ix_(likelihood.seen, likelihood.seen)
        measured, single = np.diag(likelihood.noise[self.seen]), np.diag(likelihood.single[self.seen])
        self.runs = int(np.clip(np.ceil(np.max(single / (LITTLE * measured))), FEWEST, MOST))
        self.covariance = (likelihood.noise + likelihood.single / self.runs)[self.seen]
        self.most = self.sums([likelihood.best])[0] + likelihood.threshold
        """Largest sum of a point in the valley."""

    def sums(self, cubes: Sequence[Array]) -> list[float]:
        """Sum of squares of each point; infinite where runs give no numbers."""
        seeds = range(FIRST_SEED, FIRST_SEED + self.runs)
        found = []
        for one in self.search.try_all(np.array(cubes), [seeds] * len(cubes)):
            left = (one.mean - self.likelihood.measured)[self.likelihood.seen]
            total = float(left @ np.linalg.solve(self.covariance, left))
            found.append(total if np.isfinite(total) else float("inf"))
        return found

    def end(self, key: int, other: int, sign: int) -> End:
        """Walk from the best point on, the key upwards or downwards."""
        at = self.likelihood.best.copy()
        made_up = 0
        # At an end of the range there is no step left.
        while abs((place := float(np.clip(at[key] + sign * STEP, 0.0, 1.0))) - at[key]) >= 1e-3:
            best, sums = self._best(np.where(np.arange(len(at)) == key, place, at), other)
            if min(sums) > self.most:
                break
            made_up += sums[0] > self.most
            at = best
        return End(float(at[key]), float(at[other]), made_up)

    def _best(self, cube: Array, other: int) -> tuple[Array, list[float]]:
        """The best place with the other key free, and the sums of all that were tried, of where it was first."""
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


def walked(search: Search, likelihood: Likelihood, profiles: tuple[Profile, ...]) -> tuple[Profile, ...]:
    """The profiles, wider where a valley goes further, and with the keys that make up for each other."""
    if len(profiles) < 2:
        return profiles
    found, walk = list(profiles), Walk(search, likelihood)
    for pair in combinations(range(len(found)), 2):
        made_up = 0
        # Where one key is nearly all of what they give together, small steps of it are large ones of the other.
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
