"""Search of a fit: points over the whole ranges, and boxes that close in on the best one.

Points that are compared with each other use the same seeds (common random numbers), so differences are due to the keys.
Points of a box use different seeds, because there the level must be right, not the difference: with common seeds their
error would be shared by all points, and no number of points would average it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.base.errors import InputError
from sojourn.model.analysis.distributions import t_quantile
from sojourn.studies.fitting.data import CorrelatedNumbers, Data
from sojourn.studies.fitting.likelihood import Likelihood
from sojourn.studies.fitting.space import Point
from sojourn.studies.fitting.surfaces import SPARE, Array, Box, Surfaces, noise_of, terms

Simulate = Callable[[Sequence[tuple[Mapping[str, Any], Sequence[int]]]], list[Array]]
"""Runs a scenario with keys set and several seeds, for many points at once: each gives one row per seed, one column per
number.
"""

FIRST = 20
"""Points over the whole ranges, per free key."""
FIRST_HALF = 0.25
"""Half width of the first box, relative to the ranges."""
HELD = 3.0
"""Half width of the last box, in standard deviations of the key."""
SEEDS = 2
"""Runs per point; their spread is the simulation's noise."""
OWN_SEEDS = 1_000_000
"""First seed of the points of boxes; those of another fit start at twice this."""
CONFIDENCE = 0.95
STARTS = 3
"""Maximum number of searches, from different starting points."""
SHRINK = 3.0
"""Maximum factor by which a box shrinks in one step."""


@dataclass(frozen=True)
class SimulatedPoint:
    """A simulated point."""

    point: Point
    cube: Array
    runs: Array
    """One row per seed, one column per number."""

    @property
    def mean(self) -> Array:
        """Mean over the seeds."""
        found: Array = self.runs.mean(axis=0)
        return found


class Search:
    """Search for one combination of the choices, with all simulated points."""

    def __init__(
        self,
        data: Data,
        choices: Mapping[str, Any],
        groups: Sequence[Sequence[int]],
        simulate: Simulate,
        seed: int,
    ) -> None:
        self.data = data
        self.space = data.space
        self.choices = choices
        self.groups = groups
        self.simulate = simulate
        self.seed = seed
        self.keys = len(data.space.ranges)
        self.measured = np.array([number.value for number in data.numbers])
        self.tried: list[SimulatedPoint] = []
        self.common = 0
        """Number of points with common seeds."""
        self.noise = np.zeros((len(data.numbers),) * 2)
        """Covariance of the measured numbers, as of the latest box."""
        self.free = 1
        """Its degrees of freedom: those of the simulation, or of a recording if fewer."""
        self.looks = 0
        self.next_seed = OWN_SEEDS * seed

    def over_all(self) -> None:
        """Simulate points over the whole ranges, with common seeds."""
        cubes = self._spread(np.zeros(self.keys), np.ones(self.keys), FIRST * self.keys)
        self.try_all(cubes, [range(1, 1 + SEEDS)] * len(cubes))
        self.common = len(self.tried)

    def first_boxes(self) -> Iterator[Box]:
        """Yield a box around the best of these points, then around the best ones outside all earlier boxes."""
        boxes: list[Box] = []
        for one in sorted(self.tried[: self.common], key=self._rough):
            if len(boxes) < STARTS and not any(box.holds(one.cube) for box in boxes):
                boxes.append(Box(one.cube, np.full(self.keys, FIRST_HALF)))
                yield boxes[-1]

    def in_box(self, box: Box, points: int) -> Likelihood:
        """Simulate points of a box; return the likelihood over the surfaces of all points within it."""
        wanted = points * (terms(self.keys) + SPARE)
        cubes = self._spread(box.low, box.high, wanted)
        seeds = [range(first, first + SEEDS) for first in range(self.next_seed, self.next_seed + SEEDS * wanted, SEEDS)]
        self.next_seed += SEEDS * wanted
        self.try_all(cubes, seeds)
        own = self.tried[self.common :]
        near = [one for one in own if box.holds(one.cube) and np.isfinite(one.runs).all()]
        if len(near) <= self.keys + 1:
            raise InputError(f"free: {', '.join(self.space.paths)}: most runs there give no numbers; narrow the ranges")
        surfaces = Surfaces(
            box, np.array([one.cube for one in near]), np.array([one.mean for one in near]), self.groups
        )
        runs, self.free = noise_of([one.runs for one in near], surfaces)
        self.noise = self._measured(runs)
        if self.data.together is not None:
            self.free = min(self.free, self.data.together.free)
        return Likelihood(surfaces, self.measured, self.noise, runs, self.data.seen, threshold(self.free))

    def _measured(self, runs: Array) -> Array:
        """Covariance of the measured numbers: from their bands, or the variation between single runs."""
        found = np.zeros_like(runs)
        for one, number in enumerate(self.data.numbers):
            for other, beside in enumerate(self.data.numbers):
                if number.sd is None and beside.sd is None:
                    found[one, other] = runs[one, other] / np.sqrt(number.runs * beside.runs)
            if number.sd is not None:
                found[one, one] = number.sd**2
        if (own := self.data.together) is not None:
            _correlate(found, runs, own)
        found += np.diag([number.resolution**2 for number in self.data.numbers])
        return found

    def next_box(self, likelihood: Likelihood) -> Box | None:
        """A smaller box around the best point; None if this one is small enough."""
        box, best = likelihood.box, likelihood.best
        wanted = np.maximum(HELD * np.sqrt(np.diag(likelihood.covariance())), self._least_half(best))
        # If the box does not determine a key, its best position is arbitrary and may be at an edge.
        flat = wanted >= HELD * box.half
        near_edge = (np.abs(best - box.centre) > 0.7 * box.half) & (best > 0.02) & (best < 0.98) & ~flat
        large = box.half > 1.5 * np.minimum(wanted, 0.5)
        if not near_edge.any() and not large.any():
            return None
        half = np.where(
            near_edge, box.half, np.clip(wanted, box.half / SHRINK, np.maximum(box.half, np.minimum(wanted, 0.5)))
        )
        return Box(best, half)

    def _least_half(self, cube: Array) -> Array:
        """Minimum half widths: a box contains at least three values of an integer key."""
        halves = []
        for one, place in zip(self.space.ranges, cube, strict=True):
            number = one.at(float(place))
            step = one.place(min(one.high, number + 1)) - one.place(max(one.low, number - 1)) if one.whole else 0.0
            halves.append(0.75 * step)
        return np.array(halves)

    def try_all(self, cubes: Array, seeds: Sequence[Sequence[int]]) -> list[SimulatedPoint]:
        """Simulate points, each with its seeds."""
        points = [self.space.point(cube.tolist()) for cube in cubes]
        sets = [({**self.choices, **self.space.sets(point)}, own) for point, own in zip(points, seeds, strict=True)]
        new = [
            SimulatedPoint(point, np.array(self.space.cube(point)), runs)
            for point, runs in zip(points, self.simulate(sets), strict=True)
        ]
        self.tried += new
        return new

    def _spread(self, low: Array, high: Array, count: int) -> Array:
        """Points that fill a box evenly (a Latin hypercube)."""
        from scipy.stats import qmc

        self.looks += 1
        own = self.seed if self.tried else 0  # fits of the same scenario share their first points
        sampler = qmc.LatinHypercube(self.keys, seed=np.random.default_rng([own, self.looks, self.keys]))
        found: Array = low + sampler.random(count) * (high - low)
        return found

    def _rough(self, one: SimulatedPoint) -> float:
        """Sum of squares before the noise is known, with an assumed relative deviation."""
        places = self.data.seen
        mean, measured = one.mean[places], self.measured[places]
        if not np.isfinite(mean).all():
            return float("inf")
        bands = np.array([self.data.numbers[place].sd or 0.0 for place in places])
        floor = np.array([self.data.numbers[place].resolution for place in places])
        largest = np.maximum(np.abs(mean), np.abs(measured))
        return float(np.sum((mean - measured) ** 2 / (bands**2 + floor**2 + (ROUGH * largest) ** 2)))


ROUGH = 0.05
"""Relative standard deviation assumed before the noise is known."""


def _correlate(found: Array, runs: Array, own: CorrelatedNumbers) -> None:
    """Turn the variances of a recording's numbers into a covariance, with the correlations of single runs.

    A recording has too few independent parts for correlations of its own: with a dozen parts and eight numbers some
    combination of the numbers would seem far too well known.
    """
    places = np.ix_(own.places, own.places)
    single = np.diag(runs)[list(own.places)]
    deviations = np.sqrt(np.maximum(np.diag(found)[list(own.places)], single / own.runs))
    scale = np.divide(deviations, np.sqrt(single), out=np.zeros_like(single), where=single > 0)
    found[places] = runs[places] * np.outer(scale, scale)
    found[own.places, own.places] = deviations**2


def threshold(free: int) -> float:
    """Maximum increase of a sum of squares within a key's 95 % interval; `free` is the noise's degrees of freedom."""
    return t_quantile(free, 0.5 + CONFIDENCE / 2) ** 2
