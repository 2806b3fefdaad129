"""Common analysis of the figures: names, a row of cells per run, values of a grid by its keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.studies.study import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.model.results.result import Result
    from sojourn.model.scenarios.scenario import Scenario
    from sojourn.studies.study import StudyResult

CODEL, HARD_LIMIT, FIFO = "CoDel", "Hard Limit CoDel", "FIFO, 50 ms"
SCHEMES = {"codel@ns2-patch": CODEL, "codel@hardlimit-ns2": HARD_LIMIT, "droptail": FIFO}
RATES = (1, 4, 16, 64)
"""Rates of the bottleneck in Mbit/s that the figures show."""
ROUND_TRIPS_MS = {
    3: 10,
    6: 20,
    12: 40,
    20: 60,
    30: 80,
    40: 100,
    65: 150,
    90: 200,
    115: 250,
    140: 300,
    190: 400,
    240: 500,
}
"""Nominal round-trip time by the bottleneck's one-way delay, both in ms, as in the authors' script."""
RANDOM_ROUND_TRIPS_MS = {11: 30, 17: 50}
"""Additional ones of the random points."""
RTT_MS = 100
"""Round-trip time of figures 3 to 7."""
LOADS = (1, 2, 4, 8, 16, 32, 64)
"""Numbers of FTPs."""


def cells_of(result: StudyResult, more: Callable[[dict[str, Any]], dict[str, Any]] | None = None) -> pl.DataFrame:
    """One row per run; `more` computes additional keys from the row of the study.

    Columns: `scheme`, `rate` in Mbit/s, `flows`, `seed`, `mean_ms` and `max_ms` of the delay, `packet_mean_ms`,
    `utilisation`. `mean_ms` is the authors': the mean of one sample a second, each the sojourn time of the last sent
    packet; `packet_mean_ms` is the mean over all sent packets.
    """
    rows = []
    for run, one in zip(result.runs.iter_rows(named=True), result.results, strict=True):
        row = {
            "scheme": SCHEMES[run.get("link.aqm", "codel@ns2-patch")],
            "rate": int(run["link.rate"].removesuffix(" Mbit/s")),
            "flows": run["flows.0.count"],
            "seed": run["seed"],
            "mean_ms": sampled_mean_ms(one),
            "packet_mean_ms": run["sojourn_mean_ms"],
            "max_ms": run["sojourn_max_ms"],
            "utilisation": run["utilisation"],
        }
        rows.append(row | (more(run) if more else {}))
    return pl.DataFrame(rows, infer_schema_length=None)


def sampled_mean_ms(one: Result) -> float:
    """Mean over time of the forward link's delay, from the samples of the probe `queue`."""
    samples = one.queue.filter(pl.col("link") == "forward")["last_sojourn_ns"]
    return float(samples.cast(pl.Float64).mean() or 0.0) / 1e6


def round_trip_ms(delay: str) -> int:
    """Nominal round-trip time in milliseconds of a link's one-way `delay`; access links add to it."""
    return ROUND_TRIPS_MS[int(delay.removesuffix(" ms"))]


def point_of(base: Scenario, values: dict[str, Any]) -> Point:
    """A point with values that differ from a scenario's, as if from a study file."""
    sets = {key: value for key, value in values.items() if not key.endswith(".rtt")}
    links = 2 * float(values["link.delay"].removesuffix(" ms"))
    for key in values.keys() - sets.keys():  # a canonical scenario stores an RTT as the access links' delay
        access_ms = max(0.0, float(values[key].removesuffix(" us")) / 1000 - links) / 2  # never negative by rounding
        sets[key.replace(".rtt", ".access_delay")] = f"{access_ms:.6f} ms"
    return Point(values, base.replace(sets))


def grid(cells: pl.DataFrame, value: str, *keys: str) -> dict[tuple[Any, ...], float]:
    """Mean of a column by keys, over all other differences between rows."""
    means = cells.group_by(keys).agg(pl.col(value).mean()).sort(keys)
    return {row[:-1]: row[-1] for row in means.iter_rows()}


def mean_of(cells: pl.DataFrame, value: str) -> float:
    """Mean of a column over all rows."""
    return float(cells.select(pl.col(value).mean()).item())


def plural(count: int, name: str) -> str:
    """Number with noun: `1 flow`, `2 flows`."""
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def plain_log(axes: Axes, which: str, ticks: Sequence[float]) -> None:
    """Make an axis logarithmic with these ticks, written as plain numbers."""
    axis, set_scale = (axes.xaxis, axes.set_xscale) if which == "x" else (axes.yaxis, axes.set_yscale)
    set_scale("log")
    axis.set_ticks(ticks, [f"{tick:,g}" for tick in ticks])
    axis.set_ticks([], minor=True)
