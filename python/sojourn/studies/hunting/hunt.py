"""A hunt: the search, the simplest point, and its proof with unused seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from sojourn.model.analysis.distributions import wilson
from sojourn.model.analysis.stats import sample_ci
from sojourn.studies.hunting.search import FoundPoint, Search
from sojourn.studies.hunting.shrink import Shrinker
from sojourn.studies.hunting.space import Point, seeds_from
from sojourn.studies.hunting.trials import Trials
from sojourn.studies.sentences import Comparison, Sentence

SHRINK_SEEDS = 8
"""Seeds with which each simpler point must satisfy the condition."""
PROOF_SEEDS = 20
"""Seeds of a proof, used nowhere else."""


@dataclass(frozen=True)
class Proof:
    """How often a condition is true at a point, over seeds that influenced no choice."""

    seeds: Sequence[int]
    distinct: int
    """Number of distinct runs; duplicates are left out."""
    holds: int
    """Number of distinct runs that satisfy the condition."""
    low: float
    high: float
    """95 % interval of the share of seeds that satisfy it (Wilson's)."""
    sides: Sequence[dict[str, Any]]
    """For each comparison: its text, unit, and the means of both sides with half widths of their intervals."""

    @property
    def is_proof(self) -> bool:
        """Whether more than half of all seeds satisfy it, by the interval."""
        return self.low > 0.5


@dataclass(frozen=True)
class HuntResult:
    """Result of a hunt."""

    found: FoundPoint
    point: Point
    """The simplest point that was reached."""
    shrink: Shrinker
    proof: Proof
    seed: int
    """Seed of the representative run."""


def hunt(search: Search, sentence: Sentence, *, shrink: int) -> HuntResult | None:
    """Search, simplify by trying at most `shrink` points, and prove; None if nothing is found."""
    best: HuntResult | None = None
    while best is None or not best.proof.is_proof:
        found = search.run()
        if found is None:
            break
        best = _proven(found, search, sentence, shrink)
    return best


def _proven(found: FoundPoint, search: Search, sentence: Sentence, shrink: int) -> HuntResult:
    """Simplify a found point as far as it can be proven."""
    trials = search.trials
    simpler = Shrinker(
        trials, [found.seed, *seeds_from(search.seed, "shrink", SHRINK_SEEDS - 1)], sentence.groups, shrink
    )
    simpler.run(found.point)
    for back, point in enumerate(_backwards([found.point, *simpler.kept])):
        proven = prove(trials, sentence, point, seeds_from(search.seed, f"proof {back}", PROOF_SEEDS))
        if proven.is_proof:
            break
    return HuntResult(found, point, simpler, proven, found.seed)


def _backwards(points: Sequence[Point]) -> list[Point]:
    """The last point, then those 1, 3, 7, … before it, and the first: the order in which proofs are tried."""
    steps = [2**step - 1 for step in range(len(points).bit_length())]
    return [*(points[-1 - back] for back in steps if back < len(points) - 1), points[0]]


def prove(trials: Trials, sentence: Sentence, point: Point, seeds: Sequence[int]) -> Proof:
    """Run a point with each of the seeds."""
    rows = list({tuple(one.fingerprint for one in runs): runs for runs in trials.results(point, seeds)}.values())
    holds = sum(sentence.margin(runs) > 0 for runs in rows)
    low, high = wilson(holds, len(rows))
    pairs = [sentence.sides(runs) for runs in rows]
    sides = [_sides(one, [pair[place] for pair in pairs]) for place, one in enumerate(sentence.comparisons)]
    return Proof(seeds, len(rows), holds, low, high, sides)


def _sides(comparison: Comparison, pairs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    about: dict[str, Any] = {"text": comparison.text, "unit": comparison.unit}
    for place, text in enumerate((comparison.left, comparison.right)):
        values = [pair[place] for pair in pairs if not isnan(pair[place])]
        mean, half = sample_ci(values) if values else (None, None)
        about["left" if place == 0 else "right"] = {"text": text, "mean": mean, "ci95": half}
    return about
