"""The authors' own runs as the figures' cells: input of the judge for whether they satisfy a claim.

Each cell is one run. Delays are whole milliseconds, so differences below one are insignificant. For the changing link
(figures 12 and 13) there are ten samples a second: the waiting time of the last sent packet, and the throughput.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import polars as pl

from sojourn.papers.gao2015.analysis import CODEL, HARD_LIMIT
from sojourn.papers.gao2015.dynamic import RATES, SMALL, STEP_S
from sojourn.papers.gao2015.published import published
from sojourn.papers.judge import Measurements
from sojourn.papers.original import Original

SOURCE = "the authors' published runs"
RUN = 1
"""Number of the only replication."""


@cache
def grid() -> pl.DataFrame:
    """Every published run: `scheme`, `rate`, `rtt_ms`, `flows`, `reverse`, `web`, `seed`, and our columns of values."""
    rows = published().rename({"published_mean_ms": "mean_ms", "published_max_ms": "max_ms"})
    kilobytes = pl.col("published_kBps") * 8 / 1000
    return rows.with_columns(utilisation=kilobytes / pl.col("rate"), seed=RUN)


def ftps(rtts: tuple[int, ...], loads: tuple[int, ...], schemes: tuple[str, ...] = ()) -> pl.DataFrame:
    """Runs with forward FTPs only, at some round-trip times and loads, for all schemes unless some are named."""
    alone = (pl.col("reverse") == 0) & (pl.col("web") == 0)
    chosen = grid().filter(alone & pl.col("rtt_ms").is_in(rtts) & pl.col("flows").is_in(loads))
    return chosen.filter(pl.col("scheme").is_in(schemes)) if schemes else chosen


def as_original(measured: Measurements) -> Original:
    """Wrap the authors' runs, reduced by a figure."""
    return Original(measured, SOURCE)


@cache
def samples() -> pl.DataFrame:
    """The changing link: `scheme`, `step`, `delay_ms` and `rate_kBps`, ten rows a second."""
    text = (files("sojourn.papers.gao2015") / "published-dynamic.csv.gz").read_bytes()
    names: Mapping[str, str] = {"codel": CODEL, "hlc": HARD_LIMIT, "codels": SMALL}
    rows = pl.read_csv(text).filter(pl.col("aqm").is_in(list(names)))
    step = (pl.col("time_s") / STEP_S).floor().cast(pl.Int64).clip(0, len(RATES) - 1)
    return rows.with_columns(scheme=pl.col("aqm").replace_strict(names), step=step, seed=RUN)
