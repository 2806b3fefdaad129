"""Order statistics of differences per seed: looks, intervals of the median, the least visible change.

Every bound here holds for any distribution, and no variance is estimated. If a change has no effect, the new and the
old run of a seed are exchangeable: their difference is as often positive as negative, whether the runs are independent
(another phase was drawn) or nearly equal (the same competitors behind tail drop). The number of positive differences is
then at most binomial with p = 1/2; this is tested with the error of the look, divided among the watches (Holm).
Pairing costs nothing if the runs are independent: the variance of a difference is then the sum of both variances, as
in a comparison of two samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, comb


@dataclass(frozen=True)
class Look:
    """A look at the differences of so many seeds."""

    seeds: int
    interval: float
    """One-sided error of the interval of a median."""
    error: float
    """Error of the tests whether there is an effect, for all watches together."""


INTERVALS = (0.006, 0.006, 0.025)
"""One-sided errors of the intervals: 99 % at the first two looks, 95 % at the last."""
ERRORS = (0.0015, 0.0035, 0.005)
"""Errors of the looks; their sum, 1 %, bounds the false regressions of changes without effect."""
MAX_SEEDS = 160
"""Maximum number of seeds at a second or third look."""
LIKELY = 0.95
"""Probability that the least visible change is recognised, on each side."""


def looks(seeds: int) -> tuple[Look, ...]:
    """Looks at n, 2 n and 4 n seeds, without those at more than `MAX_SEEDS`; fewer looks have the last errors."""
    numbers = (seeds, *(number for number in (2 * seeds, 4 * seeds) if number <= MAX_SEEDS))
    own = zip(numbers, INTERVALS[-len(numbers) :], ERRORS[-len(numbers) :], strict=True)
    return tuple(Look(*one) for one in own)


@cache
def tail(n: int, k: int) -> float:
    """Probability of at least `k` of `n` fair coins."""
    return float(sum(comb(n, one) for one in range(k, n + 1)) / 2**n)


@cache
def rank(n: int, level: float) -> int | None:
    """Smallest k whose `tail(n, k)` is at most `level`; None if n is too small for the level.

    The interval of the median lies between the values n - k + 1 and k of n sorted ones.
    """
    return next((k for k in range(n // 2 + 1, n + 1) if tail(n, k) <= level), None)


def interval(values: Sequence[float], level: float) -> tuple[float, float] | None:
    """Distribution-free interval of the median, with at most the error `level` on each side; None with few values."""
    n = len(values)
    k = rank(n, level)
    if k is None:
        return None
    ordered = sorted(values)
    return ordered[n - k], ordered[k - 1]


def confidence(n: int, level: float) -> float:
    """Confidence of such an interval, 0 to 1; 0 if there is none."""
    k = rank(n, level)
    return 0.0 if k is None else 1 - 2 * tail(n, k)


def median(values: Sequence[float]) -> float:
    """Median; the mean of the middle two if their number is even. Infinite values stay infinite."""
    ordered = sorted(values)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return low if low == high else (low + high) / 2


def least_visible(values: Sequence[float], seeds: int) -> float:
    """Least change that a gate distinguishes from none, in the unit of `values`, one value per seed of the baseline.

    If independent new runs do not differ in distribution, they are recognised as *small* by the last look with
    probability `LIKELY` on each side for `by` of at least this size; a change this much beyond `by` is recognised as a
    regression. It is a quantile of the differences of the baseline's values among themselves.
    """
    last = looks(seeds)[-1]
    share = _needed_share(last.seeds, rank(last.seeds, last.interval) or last.seeds)
    differences = sorted(abs(a - b) for place, a in enumerate(values) for b in values[:place])
    if not differences:
        return 0.0
    # The signed differences are symmetric, so a share of them below x is twice that share minus one of the absolute.
    return differences[min(len(differences) - 1, ceil((2 * share - 1) * len(differences)))]


@cache
def _needed_share(n: int, k: int) -> float:
    """Share p that puts at least k of n values below a bound with probability `LIKELY`, by bisection."""
    low, high = 0.5, 1.0
    for _ in range(40):
        p = (low + high) / 2
        reached = sum(comb(n, one) * p**one * (1 - p) ** (n - one) for one in range(k, n + 1))
        low, high = (low, p) if reached >= LIKELY else (p, high)
    return high
