"""Distributions of intervals and tests, compared with SciPy."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy import special, stats

from sojourn.model.analysis.distributions import beta_share, f_tail, signed_rank_p, t_cdf, t_quantile, wilson

RNG = np.random.default_rng(20261)


def test_students_t() -> None:
    for freedom in (1, 2, 3, 7, 19, 53, 100, 719, 5000):
        for share in (0.6, 0.75, 0.95, 0.975, 0.9995, 0.03):
            assert t_quantile(freedom, share) == pytest.approx(special.stdtrit(freedom, share), rel=1e-10)
        for t in (0.0, 0.3, -1.7, 2.2, -4.4, 11.0, -37.0):
            assert t_cdf(freedom, t) == pytest.approx(special.stdtr(freedom, t), rel=1e-10, abs=1e-300)
    assert t_quantile(1, 0.75) == pytest.approx(1.0)  # Cauchy distribution
    with pytest.raises(ValueError, match="outside"):
        t_quantile(3, 1.0)


def test_f() -> None:
    for above, below, f in ((1, 1, 0.4), (3, 17, 2.9), (12, 5, 0.01), (40, 211, 1.6), (2, 900, 31.0), (5, 9, 0.0)):
        assert f_tail(above, below, f) == pytest.approx(special.fdtrc(above, below, f), rel=1e-11)


def test_incomplete_beta() -> None:
    for a, b, x in RNG.uniform((0.2, 0.2, 0.0), (90, 90, 1.0), (200, 3)):
        assert beta_share(a, b, x) == pytest.approx(special.betainc(a, b, x), rel=1e-10, abs=1e-290)
    assert (beta_share(2, 3, 0.0), beta_share(2, 3, 1.0)) == (0.0, 1.0)


@pytest.mark.parametrize("n", [6, 7, 13, 29, 50, 51, 83])
def test_signed_ranks(n: int) -> None:
    for shift in (0.0, 0.4, -1.1):
        plain = RNG.normal(shift, 1.0, n)
        tied = np.where(np.round(plain, 1) == 0, 0.1, np.round(plain, 1))
        for sample in (plain, tied):
            ties = len(set(np.abs(sample))) < n
            wanted = stats.wilcoxon(sample, method="approx" if ties or n > 50 else "exact").pvalue
            assert signed_rank_p(sample.tolist()) == pytest.approx(wanted, rel=1e-10)
    assert signed_rank_p([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == 2 / 2**6


def test_wilsons_interval() -> None:
    for holds, trials in ((0, 5), (5, 5), (3, 17), (1, 20), (19, 20), (50, 100)):
        wanted = stats.binomtest(holds, trials).proportion_ci(method="wilson")
        assert wilson(holds, trials) == pytest.approx((wanted.low, wanted.high), abs=1e-12)
    low, high = wilson(10, 20)
    assert (low + high) / 2 == pytest.approx(0.5) and high - low < 4 / sqrt(20)
