"""What the figures share: names, the packets of a run, drop phases, smoothed drop rates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sojourn.result import Result
    from sojourn.study import StudyResult

AQMS = {"codel@draft00": "CoDel", "codel@act": "CoDel-ACT", "pie@draft00": "PIE"}
LOADS = (1, 4, 16, 64)
TARGET_MS = 5.0
QDELAY_REF_MS = 16.0
DENSE: dict[str, Any] = {"linewidth": 0.8, "linestyle": "-"}
"""Curves that oscillate fast are told apart by colour; dashes would only break them."""
PACKET_MS = 1.2056
"""Transmission time of a full packet."""


def runs(result: StudyResult) -> Iterator[tuple[str, int, int, Result]]:
    """Name of the AQM, flows, seed and result of every run."""
    count = len(result.study.seeds)
    for index, one in enumerate(result.results):
        values = result.study.points[index // count].values
        yield AQMS[values["link.aqm"]], int(values["flows.0.count"]), one.seed, one


def first_runs(result: StudyResult) -> dict[tuple[str, int], Result]:
    """The first seed's run of every AQM and load: what a figure of single runs shows."""
    found: dict[tuple[str, int], Result] = {}
    for aqm, flows, _, one in runs(result):
        found.setdefault((aqm, flows), one)
    return found


def packets(result: Result, start_s: float = 0.0, end_s: float = np.inf) -> pl.DataFrame:
    """Packets of the forward link by the time they were sent or dropped: `time_s`, `sojourn_ms`, `dropped`."""
    inside = (pl.col("link") == "forward") & pl.col("time_s").is_between(start_s, end_s)
    dropped = pl.col("fate").cast(pl.String).str.starts_with("dropped")
    return result.packets.filter(inside).select("time_s", "sojourn_ms", dropped.alias("dropped"))


def state(result: Result) -> pl.DataFrame:
    """State variables of the forward link's AQM over time."""
    return result.state.filter(pl.col("link") == "forward")


def drop_phases(window: pl.DataFrame, target_ms: float = TARGET_MS) -> pl.DataFrame:
    """Drop phases: drops between which no packet was sent that had waited less than the target.

    Columns: `start_s` and `end_s`, the first and the last drop, and `drops`.
    """
    below = (~pl.col("dropped") & (pl.col("sojourn_ms") < target_ms)).cast(pl.Int64).cum_sum()
    drops = window.with_columns(phase=below).filter("dropped")
    phases = drops.group_by("phase", maintain_order=True).agg(
        start_s=pl.col("time_s").first(), end_s=pl.col("time_s").last(), drops=pl.len()
    )
    return phases.drop("phase")


def tewma(times_s: NDArray[np.float64], at_s: NDArray[np.float64], memory_s: float = 0.5) -> NDArray[np.float64]:
    """Rate of events per second: the time-exponentially weighted moving average of memory `memory_s`."""
    # A weight exp(-(t - t_i) / M) per event: sums of exp(t_i / M), kept small by counting from each step on.
    rates = np.empty(len(at_s))
    level, last, index = 0.0, 0.0, 0
    for place, now in enumerate(at_s):
        while index < len(times_s) and times_s[index] <= now:
            level = level * np.exp(-(times_s[index] - last) / memory_s) + 1
            last = float(times_s[index])
            index += 1
        rates[place] = level * np.exp(-(now - last) / memory_s) / memory_s
    return rates


def drop_rate(result: Result, at_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Smoothed drop rate of the forward link in drops per second."""
    return tewma(packets(result).filter("dropped")["time_s"].to_numpy(), at_s)


def cells_of(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """One row per run, as the judge of relations wants it."""
    return pl.DataFrame(rows, infer_schema_length=None)


def column(cells: pl.DataFrame, aqm: str, name: str, loads: tuple[int, ...] = LOADS) -> list[float]:
    """Values of an AQM over the loads."""
    chosen = cells.filter((pl.col("aqm") == aqm) & pl.col("flows").is_in(loads))
    return [float("nan") if value is None else value for value in chosen.sort("flows")[name]]
