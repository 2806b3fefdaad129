"""A hunt: the search, the simplest point, and its proof over seeds that neither of them has seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from sojourn.model.analysis.distributions import wilson
from sojourn.model.analysis.stats import sample_ci
from sojourn.model.results.result import Result
from sojourn.studies.hunting.search import Found, Search
from sojourn.studies.hunting.shrink import Shrink
from sojourn.studies.hunting.space import Point, seeds_from
from sojourn.studies.hunting.trials import Trials
from sojourn.studies.hunting.where import Sentence

SHRINK_SEEDS = 8
"""Seeds with which each simpler point has to hold."""
PROOF_SEEDS = 20
"""Seeds of a proof, which nothing else has."""


@dataclass(frozen=True)
class Proof:
    """How often a sentence is true of a point, over seeds that nothing was chosen by."""

    seeds: Sequence[int]
    distinct: int
    """How many runs differ; the others are left out."""
    holds: int
    """With how many of these it is true."""
    low: float
    high: float
    """95 % interval of the share of seeds with which it is true (Wilson's)."""
    sides: Sequence[dict[str, Any]]
    """Of each comparison: its text, unit, and the means of both sides with half widths of their intervals."""

    @property
    def is_proof(self) -> bool:
        """Whether it is true with more than half of all seeds, by the interval."""
        return self.low > 0.5


@dataclass(frozen=True)
class Hunted:
    """What a hunt found."""

    found: Found
    point: Point
    """The simplest one that was reached."""
    shrink: Shrink
    proof: Proof
    seed: int
    """Seed of the run that stands for it."""


def hunt(search: Search, sentence: Sentence, *, shrink: int) -> Hunted | None:
    """Search, make simpler by trying at most `shrink` points, and prove; None if nothing is found."""
    best: Hunted | None = None
    while best is None or not best.proof.is_proof:
        found = search.run()
        if found is None:
            break
        best = _proven(found, search, sentence, shrink)
    return best


def _proven(found: Found, search: Search, sentence: Sentence, shrink: int) -> Hunted:
    """Make a found point as simple as it can be proven."""
    trials = search.trials
    groups = frozenset(int(number) for number in re.findall(r"\bflows\.(\d+)", sentence.text))
    simpler = Shrink(trials, [found.seed, *seeds_from(search.seed, "shrink", SHRINK_SEEDS - 1)], groups, shrink)
    simpler.run(found.point)
    for back, point in enumerate(_backwards([found.point, *simpler.kept])):
        proven = prove(trials, sentence, point, seeds_from(search.seed, f"proof {back}", PROOF_SEEDS))
        if proven.is_proof:
            break
    return Hunted(found, point, simpler, proven, found.seed)


def _backwards(points: Sequence[Point]) -> list[Point]:
    """The last point, then those 1, 3, 7, … before it, and the first: what is tried until one is proven."""
    steps = [2**step - 1 for step in range(len(points).bit_length())]
    return [*(points[-1 - back] for back in steps if back < len(points) - 1), points[0]]


def prove(trials: Trials, sentence: Sentence, point: Point, seeds: Sequence[int]) -> Proof:
    """Run a point with each of the seeds."""
    rows = {tuple(one.fingerprint for one in runs): runs for runs in trials.results(point, seeds)}.values()
    holds = sum(sentence.margin(runs) > 0 for runs in rows)
    low, high = wilson(holds, len(rows))
    sides = [_sides(one, list(rows)) for one in sentence.comparisons]
    return Proof(seeds, len(rows), holds, low, high, sides)


def _sides(comparison: Any, rows: Sequence[Sequence[Result]]) -> dict[str, Any]:
    pairs = [comparison.sides(runs) for runs in rows]
    about: dict[str, Any] = {"text": comparison.text, "unit": comparison.left.unit}
    for place, term in enumerate((comparison.left, comparison.right)):
        values = [pair[place] for pair in pairs if not isnan(pair[place])]
        mean, half = sample_ci(values) if values else (None, None)
        about["left" if place == 0 else "right"] = {"text": term.text, "mean": mean, "ci95": half}
    return about
