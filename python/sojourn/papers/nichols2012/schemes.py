"""Common analysis of the figures: the two queue managers, and a row of cells per run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from sojourn.studies.study import StudyResult

CODEL, RED = "CoDel", "RED"
SCHEMES = {"codel@acm2012": CODEL, "red avpkt 1500B": RED}


def cells_of(result: StudyResult, *more: pl.Expr) -> pl.DataFrame:
    """One row per run: `scheme`, `rate_mbit`, `seed` and `more`."""
    scheme = pl.col("link.aqm").replace_strict(SCHEMES).alias("scheme")
    rate = pl.col("link.rate").str.split(" ").list.first().cast(pl.Float64).alias("rate_mbit")
    return result.runs.select(scheme, rate, "seed", *more)
