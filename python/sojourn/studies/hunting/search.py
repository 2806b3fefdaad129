"""The search: random points, then an evolution strategy from the best of them, repeatedly.

The strategy is CMA-ES with margin (R. Hamano, S. Saito, M. Nomura, S. Shirakawa, "CMA-ES with margin: lower-bounding
marginal probability for mixed-integer black-box optimization", GECCO 2022), as implemented by the package `cmaes`, in
the unit cube of all drawn values. The batch size is the same on every machine, so results do not depend on the number
of cores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from sojourn.base.errors import MissingError
from sojourn.model.scenarios.draw import Choice
from sojourn.studies.hunting.space import Point, Space, seeds_from
from sojourn.studies.hunting.trials import Trials

BATCH = 8
"""Points tried together."""
ROUND = 48
"""Random points before the strategy starts, and again after it ended without success."""
GENERATIONS = 12
"""The strategy ends after this many generations without a better point."""
SIGMA = 0.2
"""Initial step size, relative to the ranges."""
CONFIRMING = (4, 5)
"""Batches of further seeds; a point counts as found if at most one of them fails."""
NOTHING = -30.0
"""Margin reported to the strategy for a point without one."""


@dataclass(frozen=True)
class FoundPoint:
    """A point that satisfies the condition with several seeds."""

    point: Point
    seed: int
    evaluations: int
    """Points tried until then; confirmations with further seeds count as well."""
    by: str
    """`random` or `local`."""


@dataclass
class Search:
    """State of a search."""

    trials: Trials
    seed: int
    most: int
    """Evaluations after which it gives up."""
    local: bool = True
    """Whether the strategy follows the random points; otherwise there are more random points."""
    evaluations: int = 0
    best: tuple[float, Point, int] | None = None
    """Largest margin, its point and its seed."""
    drawn: int = 0
    """Random points so far."""
    _start: tuple[float, dict[str, float]] | None = None
    """Largest margin of the last round of random points, and the coordinates of its point."""

    def __post_init__(self) -> None:
        """Raise `MissingError` early if the strategy's package is missing."""
        if self.local and find_spec("cmaes") is None:
            remedy = "install it: pip install 'sojourn[hunt]', or search at random only (--random)"
            raise MissingError(f"the strategy of a hunt needs cmaes, which is missing; {remedy}")

    def run(self) -> FoundPoint | None:
        """Search until a point is confirmed or the evaluations are used up; another call resumes the search."""
        while self.evaluations < self.most:
            found = self._random_round() or (self._local_search() if self.local else None)
            if found:
                return found
        return None

    def _random_round(self) -> FoundPoint | None:
        """A round of random points; the best one is the start of the strategy."""
        self._start = None
        for _ in range(ROUND // BATCH):
            seeds = [self._next_seed() for _ in range(min(BATCH, self.most - self.evaluations))]
            points = [self.trials.space.drawn(seed) for seed in seeds]
            margins = self._try(list(zip(points, seeds, strict=True)))
            for place in np.argsort(margins)[::-1]:
                if margins[place] > 0 and (found := self._confirmed(points[place], seeds[place])):
                    return found
                if self._start is None or margins[place] > self._start[0]:
                    self._start = margins[place], self.trials.space.places(seeds[place])
        return None

    def _local_search(self) -> FoundPoint | None:
        """Run the strategy from the best random point of the round."""
        from cmaes import CMAwM

        if self._start is None or not isfinite(self._start[0]):
            return None
        cube = Cube(self.trials.space)
        strategy = CMAwM(
            mean=cube.of(self._start[1]),
            sigma=SIGMA,
            bounds=np.array([[0.0, 1.0]] * len(cube.names)),
            steps=np.array(cube.steps),
            seed=seeds_from(self.seed, f"strategy {self.evaluations}", 1)[0],
            population_size=BATCH,
        )
        best, since = self._start[0], 0
        while since < GENERATIONS and self.evaluations + BATCH <= self.most and not strategy.should_stop():
            candidates = [strategy.ask() for _ in range(BATCH)]
            points = [self.trials.space.at(cube.places(one)) for one, _ in candidates]
            [seed] = seeds_from(self.seed, f"generation {self.evaluations}", 1)
            margins = self._try([(point, seed) for point in points])
            for place in np.argsort(margins)[::-1]:
                if margins[place] <= 0:
                    break
                if found := self._confirmed(points[place], seed, by="local"):
                    return found
                margins[place] = 0.0  # true with this seed only
            strategy.tell(
                [(candidate, -max(margin, NOTHING)) for (_, candidate), margin in zip(candidates, margins, strict=True)]
            )
            since = 0 if max(margins) > best else since + 1
            best = max(best, *margins)
        return None

    def _try(self, requests: Sequence[tuple[Point, int]]) -> list[float]:
        margins = self.trials.margins(requests)
        self.evaluations += len(requests)
        for margin, (point, seed) in zip(margins, requests, strict=True):
            if self.best is None or margin > self.best[0]:
                self.best = margin, point, seed
        return margins

    def _confirmed(self, point: Point, seed: int, by: str = "random") -> FoundPoint | None:
        """Confirm a point with further seeds; None if more than one fails."""
        fails = 0
        for count in CONFIRMING:
            others = seeds_from(self.seed, f"confirm {self.evaluations}", count)
            fails += sum(one <= 0 for one in self._try([(point, other) for other in others]))
            if fails > 1:
                return None
        return FoundPoint(point, seed, self.evaluations, by)

    def _next_seed(self) -> int:
        """Seed of the next random point, also used for its run."""
        self.drawn += 1
        return seeds_from(self.seed, f"point {self.drawn}", 1)[0]


@dataclass(frozen=True)
class Cube:
    """Unit cube of a space, without keys that have a single value."""

    space: Space

    @property
    def names(self) -> list[str]:
        """Names of the coordinates."""
        return [name for name, leaf in self.space.leaves.items() if options_of(leaf) != 1]

    @property
    def steps(self) -> list[float]:
        """Step size of each coordinate's values; 0 for a range."""
        options = [options_of(self.space.leaves[name]) for name in self.names]
        return [1 / (count - 1) if count else 0.0 for count in options]

    def of(self, places: Mapping[str, float]) -> NDArray[np.float64]:
        """Coordinates of a point given by its positions in the distributions."""
        found = []
        for name in self.names:
            count = options_of(self.space.leaves[name])
            found.append(int(places[name] * count) / (count - 1) if count else places[name])
        return np.array(found)

    def places(self, cube: Sequence[float]) -> dict[str, float]:
        """Positions in the distributions of a point given by its coordinates."""
        found = dict.fromkeys(self.space.leaves, 0.0)
        for name, coordinate in zip(self.names, cube, strict=True):
            count = options_of(self.space.leaves[name])
            place = (round(float(coordinate) * (count - 1)) + 0.5) / count if count else float(coordinate)
            found[name] = min(max(place, 0.0), BELOW_ONE)
        return found


BELOW_ONE = 1 - 2**-53


def options_of(leaf: object) -> int:
    """Number of values that a leaf chooses from; 0 for a range."""
    return len(leaf.options) if isinstance(leaf, Choice) else 0
