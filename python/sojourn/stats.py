"""Statistics across replications."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan, sqrt
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def mean_ci(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and half width of its 95 % confidence interval (Student's t); None with fewer than two values."""
    n = len(values)
    if n == 0:
        return nan, None
    mean = sum(values) / n
    if n < 2:
        return mean, None
    from scipy.special import stdtrit

    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    return mean, float(stdtrit(n - 1, 0.975)) * sqrt(variance / n)


def merge_histograms(frames: Sequence[pl.DataFrame], link: str = "forward") -> pl.DataFrame:
    """Add up sojourn-time histograms of several runs, bucket by bucket; exact, because all share their buckets."""
    chosen = [frame.filter(pl.col("link") == link).drop("link") for frame in frames]
    merged = pl.concat(chosen).group_by("lower_ms", "upper_ms").agg(pl.col("count").sum())
    return merged.sort("lower_ms")


def quantile(histogram: pl.DataFrame, q: float) -> float | None:
    """Order statistic of a merged histogram, exact to the width of a bucket (0.1 %)."""
    total = int(histogram["count"].sum())
    if not total:
        return None
    reached = histogram.filter(pl.col("count").cum_sum() >= q * total)
    return float(reached["lower_ms"][0] + reached["upper_ms"][0]) / 2


def line_fit(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Slope and coefficient of determination of a straight line through the points."""
    import numpy as np

    slope, offset = np.polyfit(x, y, 1)
    spread = float(np.sum((y - y.mean()) ** 2))
    left = float(np.sum((y - (slope * x + offset)) ** 2))
    return float(slope), 1 - left / spread if spread else 1.0
