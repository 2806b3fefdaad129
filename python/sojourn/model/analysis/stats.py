"""Statistics across replications and within one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan, sqrt
from typing import TYPE_CHECKING, Any

from sojourn import _core
from sojourn.base.late import np, pl
from sojourn.model.analysis.distributions import signed_rank_p, t_cdf, t_quantile

if TYPE_CHECKING:
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
    chosen = [frame.filter(pl.col("link") == link).drop("link").to_dict() for frame in frames]
    return pl.DataFrame(merged([{name: np.asarray(column) for name, column in one.items()} for one in chosen]))


def merged(histograms: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Like `merge_histograms`, for the columns of histograms of one link."""
    together = {name: np.concatenate([one[name] for one in histograms]) for name in histograms[0]}
    return merged_bins(together)


def merged_bins(bins: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Sum the column `count` of rows that are equal in all others, sorted by these."""
    keys = {name: column for name, column in bins.items() if name != "count"}
    order = np.lexsort([*reversed(keys.values())])
    ordered = {name: column[order] for name, column in keys.items()}
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in ordered.values()])
    starts = np.flatnonzero(is_new)
    counts = bins["count"][order]
    sums = np.add.reduceat(counts, starts) if len(starts) else counts
    return {**{name: column[starts] for name, column in ordered.items()}, "count": sums}


def quantile(histogram: Mapping[str, NDArray[Any]] | pl.DataFrame, q: float) -> float | None:
    """Order statistic of a merged histogram, exact to the width of a bucket (0.1 %)."""
    counts = np.asarray(histogram["count"])
    total = int(counts.sum())
    if not total:
        return None
    reached = int(np.argmax(np.cumsum(counts) >= q * total))
    return float(histogram["lower_ms"][reached] + histogram["upper_ms"][reached]) / 2


def line_fit(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Slope and coefficient of determination of a least-squares line through the points."""
    slope, offset = np.polyfit(x, y, 1)
    spread = float(np.sum((y - y.mean()) ** 2))
    left = float(np.sum((y - (slope * x + offset)) ** 2))
    return float(slope), 1 - left / spread if spread else 1.0
