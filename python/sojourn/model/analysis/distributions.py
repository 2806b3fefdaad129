"""Distributions for intervals and tests: Student's t, F, normal, Wilcoxon's signed ranks, Wilson's interval.

Implemented here because importing SciPy takes longer than everything else that a comparison loads. Tests compare each
function with SciPy's.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, exp, lgamma, log, log1p, sqrt


def t_cdf(freedom: float, t: float) -> float:
    """Cumulative probability of Student's t distribution with `freedom` degrees of freedom at `t`."""
    tail = beta_share(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2
    return tail if t < 0 else 1 - tail


def t_quantile(freedom: float, share: float) -> float:
    """Quantile of Student's t distribution at probability `share`, 0 < share < 1."""
    if not 0 < share < 1:
        raise ValueError(f"share {share}: outside of 0 to 1")
    if share < 0.5:
        return -t_quantile(freedom, 1 - share)
    low, high = 0.0, 1.0
    while t_cdf(freedom, high) < share:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        if t_cdf(freedom, middle) < share:
            low = middle
        else:
            high = middle
    return high


def f_tail(above: float, below: float, f: float) -> float:
    """Upper tail probability of the F distribution at `f`; `above` and `below` are the degrees of freedom."""
    return beta_share(below / 2, above / 2, below / (below + above * f)) if f > 0 else 1.0


def signed_rank_p(differences: Sequence[float]) -> float:
    """Two-sided p of Wilcoxon's signed-rank test; the differences must be non-zero.

    Exact for at most 50 differences without ties in size; otherwise the normal approximation with the correction for
    ties, without continuity correction.
    """
    sizes = sorted(abs(one) for one in differences)
    ranks: dict[float, float] = {}
    ties = 0
    for size in dict.fromkeys(sizes):
        first, alike = sizes.index(size), sizes.count(size)
        ranks[size] = first + (alike + 1) / 2
        ties += alike**3 - alike
    n = len(sizes)
    above = sum(ranks[abs(one)] for one in differences if one > 0)
    least = min(above, n * (n + 1) / 2 - above)
    if not ties and n <= MAX_EXACT:
        below = sum(_rank_sums(n)[: int(least) + 1])
        return min(1.0, 2 * below / (1 << n))
    variance = n * (n + 1) * (2 * n + 1) / 24 - ties / 48
    return erfc(abs(above - n * (n + 1) / 4) / sqrt(2 * variance))


def _rank_sums(n: int) -> list[int]:
    """Number of sign assignments to the ranks 1 to `n` for each sum of positive ranks, from sum 0 on."""
    counts = [1]
    for rank in range(1, n + 1):
        longer = counts + [0] * rank
        for place, count in enumerate(counts):
            longer[place + rank] += count
        counts = longer
    return counts


def wilson(holds: int, trials: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a proportion with `holds` successes in `trials` trials."""
    z = NORMAL_975
    share, room = holds / trials, z * z / trials
    centre = (share + room / 2) / (1 + room)
    half = z / (1 + room) * sqrt(share * (1 - share) / trials + room / (4 * trials))
    return (0.0 if holds == 0 else centre - half), (1.0 if holds == trials else centre + half)


def beta_share(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function I_x(a, b), by its continued fraction (Abramowitz and Stegun, 26.5.8)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction by Lentz's modified method."""
    tiny = 1e-300
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or tiny)
    value = d
    for m in range(1, MAX_TERMS):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + factor * d or tiny)
            c = 1 + factor / c or tiny
            value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return value


MAX_EXACT = 50
MAX_TERMS = 10_000
NORMAL_975 = 1.959963984540054
"""97.5 % quantile of the standard normal distribution."""
