"""Statistics across replications and within one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan, sqrt
from typing import TYPE_CHECKING

import polars as pl

from sojourn import _core
from sojourn.model.analysis.distributions import signed_rank_p, t_cdf, t_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MIN_FOR_WILCOXON = 6
"""With fewer pairs Wilcoxon's two-sided test cannot give p < 0.05: its minimum p is 2 / 2^n."""


def mean_ci(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and half width of its 95 % confidence interval (Student's t); None with fewer than two values."""
    n = len(values)
    if n == 0:
        return nan, None
    mean = sum(values) / n
    if n < 2:
        return mean, None
    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    return mean, t_quantile(n - 1, 0.975) * sqrt(variance / n)


def sample_ci(values: Sequence[float]) -> tuple[float, float | None]:
    """Like `mean_ci`, for replications without fingerprints: all-equal values are taken for a single run."""
    mean, half = mean_ci(values)
    return mean, half if len(set(values)) > 1 else None


@dataclass(frozen=True)
class PairedDifference:
    """Paired difference between two samples of the same replications."""

    n: int
    """Number of pairs."""
    difference: float
    """Mean of the differences, second sample minus first."""
    ci95: float | None
    """Half width of its 95 % confidence interval; None with one pair."""
    p_t: float | None
    """Two-sided p of the paired t test; None with one pair, or if all pairs differ by the same amount (no variance)."""
    p_wilcoxon: float | None
    """Two-sided p of Wilcoxon's signed-rank test; None with fewer than six pairs that differ."""

    @property
    def significant(self) -> bool:
        """Whether every test that n allows gives p < 0.05."""
        return self.p_t is not None and self.p_t < 0.05 and (self.p_wilcoxon is None or self.p_wilcoxon < 0.05)


def paired_difference(first: Sequence[float], second: Sequence[float]) -> PairedDifference:
    """Compare two samples pair by pair; effects common to both, such as the seed's, cancel out."""
    differences = [b - a for a, b in zip(first, second, strict=True)]
    n = len(differences)
    mean, half = mean_ci(differences)
    if n < 2:
        return PairedDifference(n, mean, None, None, None)
    error = sqrt(sum((one - mean) ** 2 for one in differences) / (n - 1) / n)
    p_t = 2 * t_cdf(n - 1, -abs(mean) / error) if error > 0 else None
    return PairedDifference(n, mean, half, p_t, _wilcoxon([one for one in differences if one != 0]))


def _wilcoxon(differences: Sequence[float]) -> float | None:
    """Two-sided p of the signed-rank test; zero differences are already removed (Wilcoxon's own treatment)."""
    if len(differences) < MIN_FOR_WILCOXON:
        return None
    return signed_rank_p(differences)


def mser(series: Sequence[float], batch: int = 5) -> int | None:
    """Number of values in the transient at the head of `series`, by MSER-5; None if it has not settled.

    K. P. White, M. J. Cobb, S. C. Spratt, "A comparison of five steady-state truncation heuristics for simulation", WSC
    2000: the first d means of batches of five are left out; d minimises the squared standard error of the mean of the
    rest, sum of (y - mean)^2 over (n - d)^2. A minimum in the second half means that the series is too short. The last
    five batches are no candidates: so few can be equal by chance.
    """
    return _core.mser(list(series), batch)


def merge_histograms(frames: Sequence[pl.DataFrame], link: str = "forward") -> pl.DataFrame:
    """Add up sojourn-time histograms of several runs, bucket by bucket; exact, because all have the same buckets."""
    chosen = [frame.filter(pl.col("link") == link).drop("link") for frame in frames]
    merged = pl.concat(chosen).group_by("lower_ms", "upper_ms").agg(pl.col("count").sum())
    return merged.sort("lower_ms")


def merged_bins(bins: pl.DataFrame) -> pl.DataFrame:
    """Sum the counts of rows with the same `link` and bin, `lower_ns` to `upper_ns`, sorted by them."""
    keys = ["link", "lower_ns", "upper_ns"]
    return bins.group_by(keys).agg(pl.col("count").sum()).sort(keys)


def quantile(histogram: pl.DataFrame, q: float) -> float | None:
    """Order statistic of a merged histogram, exact to the width of a bucket (0.1 %)."""
    total = int(histogram["count"].sum())
    if not total:
        return None
    reached = histogram.filter(pl.col("count").cum_sum() >= q * total)
    return float(reached["lower_ms"][0] + reached["upper_ms"][0]) / 2


def line_fit(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Slope and coefficient of determination of a least-squares line through the points."""
    import numpy as np

    slope, offset = np.polyfit(x, y, 1)
    spread = float(np.sum((y - y.mean()) ** 2))
    left = float(np.sum((y - (slope * x + offset)) ** 2))
    return float(slope), 1 - left / spread if spread else 1.0
