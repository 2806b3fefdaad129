"""Common analysis of the figures: names, runs, state, drop phases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.papers.cells import by_seed
from sojourn.papers.judge import regardless_of

if TYPE_CHECKING:
    from sojourn.model.results.result import Result
    from sojourn.studies.study import StudyResult

AQMS = {"codel@draft00": "CoDel", "codel@act": "CoDel-ACT", "pie@draft00": "PIE"}
without_act = regardless_of("codel@act")
"""Declares that a relation ignores CoDel-ACT."""
LOADS = (1, 4, 16, 64)
TARGET_MS = 5.0
QDELAY_REF_MS = 16.0
DENSE: dict[str, Any] = {"linewidth": 0.8, "linestyle": "-"}
"""Style of fast oscillating curves: distinguished by colour, because dashes would be unreadable."""
PACKET_MS = 1.2056
"""Transmission time of a full-sized packet."""


def runs(result: StudyResult) -> Iterator[tuple[str, int, int, Result]]:
    """Name of the AQM, flows, seed and result of every run."""
    for values, one in result.with_values():
        yield AQMS[values["link.aqm"]], int(values["flows.0.count"]), one.seed, one


def first_runs(result: StudyResult) -> dict[tuple[str, int], Result]:
    """First seed's run of every AQM and load, shown in figures of single runs."""
    found: dict[tuple[str, int], Result] = {}
    for aqm, flows, _, one in runs(result):
        found.setdefault((aqm, flows), one)
    return found


def state(result: Result) -> pl.DataFrame:
    """State variables of the forward link's AQM over time."""
    return result.state.filter(pl.col("link") == "forward")


def aqms_of(cells: pl.DataFrame) -> list[str]:
    """Names of the AQMs that were run, in order: an engine may lack some."""
    return [name for name in AQMS.values() if name in cells["aqm"]]


def per_seed(cells: pl.DataFrame, value: Callable[[pl.DataFrame], float], *aqms: str) -> list[float]:
    """A value of every replication, from cells of these AQMs; empty if one of them was left out."""
    return [value(cell) for cell in by_seed(cells)] if set(aqms) <= set(aqms_of(cells)) else []


def drop_phases(window: pl.DataFrame, target_ms: float = TARGET_MS) -> pl.DataFrame:
    """Drop phases: drops without a packet in between that waited less than the target.

    Columns: `start_s` and `end_s`, the first and the last drop, and `drops`.
    """
    below = (~pl.col("dropped") & (pl.col("sojourn_ms") < target_ms)).cast(pl.Int64).cum_sum()
    drops = window.with_columns(phase=below).filter("dropped")
    phases = drops.group_by("phase", maintain_order=True).agg(
        start_s=pl.col("time_s").first(), end_s=pl.col("time_s").last(), drops=pl.len()
    )
    return phases.drop("phase")


def cells_of(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """One row per run, as the judge of relations requires."""
    return pl.DataFrame(rows, infer_schema_length=None)


def column(cells: pl.DataFrame, aqm: str, name: str, loads: tuple[int, ...] = LOADS) -> list[float]:
    """Values of an AQM over the loads."""
    chosen = cells.filter((pl.col("aqm") == aqm) & pl.col("flows").is_in(loads))
    return [float("nan") if value is None else value for value in chosen.sort("flows")[name]]
