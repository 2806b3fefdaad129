"""Recorded runs of ns-2 itself as the figures' cells: input of the judge for `original`.

`original.csv` has a row per run and the columns `scheme`, `rate_mbit`, `ftps`, `rtt_ms`, `seed`, `utilisation`, `queue`
(packets) and `drop_rate`, with the names of `sweeps.SCHEMES`. It judges a figure from ten seeds on. If some points lack
a scheme, a claim that is false at the others is contradicted; none is satisfied then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import polars as pl

from sojourn.papers.judge import Measurements, Relation
from sojourn.papers.ns2_codel_variants.sweeps import FTPS, RATES_MBIT, RTTS_MS, SCHEMES
from sojourn.papers.original import Original

FILE = "original.csv"
SOURCE = "ns-2"
SEEDS = 10
"""As many as the paper's studies have."""
NORMAL = {"rate_mbit": 10.0, "ftps": 5.0, "rtt_ms": 80.0}
"""Values of the parameters that are not swept."""


def over_bandwidth(relations: Mapping[str, Relation]) -> Original | None:
    """ns-2's runs of `bandwidth.toml`."""
    return _at(pl.DataFrame({"rate_mbit": RATES_MBIT}), relations)


def over_ftps(relations: Mapping[str, Relation], ftps: Sequence[int] = FTPS) -> Original | None:
    """ns-2's runs of `ftps.toml`, or of these numbers of FTPs."""
    return _at(pl.DataFrame({"ftps": ftps}), relations)


def at_all_points(relations: Mapping[str, Relation]) -> Original | None:
    """ns-2's runs of `conclusion.toml`."""
    return _at(pl.DataFrame(every_point(), schema=list(NORMAL), orient="row"), relations)


def every_point() -> list[tuple[float, ...]]:
    """The points of all sweeps: rate in Mbit/s, number of FTPs, round-trip time in ms."""
    swept = {"rate_mbit": RATES_MBIT, "ftps": FTPS, "rtt_ms": RTTS_MS}
    return sorted({tuple((NORMAL | {name: value}).values()) for name, values in swept.items() for value in values})


def _at(points: pl.DataFrame, relations: Mapping[str, Relation]) -> Original | None:
    """ns-2's runs at the points of a figure that every scheme has; None if there are none."""
    rows, keys = recorded(), points.columns
    if rows is None:
        return None
    as_usual = [pl.col(name) == value for name, value in NORMAL.items() if name not in keys]
    cells = rows.filter(*as_usual).join(points.cast(pl.Float64), on=keys, how="semi")
    cells = cells.drop(name for name in NORMAL if name not in keys)
    cells = cells.filter(pl.col("scheme").n_unique().over(keys) == len(SCHEMES))
    if cells.is_empty():
        return None
    lacking = points.cast(pl.Float64).join(cells, on=keys, how="anti").sort(keys)
    measured = Measurements({}, cells, ("scheme", *keys), relations)
    return Original(measured, SOURCE, SEEDS, _missing(lacking))


def _missing(lacking: pl.DataFrame) -> str:
    """The points that were not run, in words; empty if there is none."""
    if lacking.is_empty():
        return ""
    swept = [name for name in lacking.columns if lacking.height == 1 or lacking[name].n_unique() > 1]
    if swept != ["ftps"]:
        return f"{lacking.height} points"
    numbers = [f"{number:g}" for number in lacking["ftps"].to_list()]
    return f"{' to '.join(dict.fromkeys((numbers[0], numbers[-1])))} FTPs"


@cache
def recorded() -> pl.DataFrame | None:
    """Every recorded run; None if there is no file."""
    file = files("sojourn.papers.ns2_codel_variants") / FILE
    if not file.is_file():
        return None
    return pl.read_csv(file.read_bytes()).with_columns(pl.col(*NORMAL).cast(pl.Float64))
