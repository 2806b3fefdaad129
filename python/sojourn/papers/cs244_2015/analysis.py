"""Common analysis of the figures: both queues, second by second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sojourn.model.results.result import Result
    from sojourn.studies.study import StudyResult

NAMES = {"droptail": "tail drop", "codel@draft00": "CoDel"}
SECONDS = 300
"""Length of every run as published; a shorter run is cut into as many parts."""

Seconds = dict[str, "NDArray[np.float64]"]
"""Columns of one queue, by name; an entry per second, or per part of a short run."""


def second_cells(result: StudyResult) -> pl.DataFrame:
    """Every second of every run, with `aqm` and `seed`."""
    return pl.concat(
        per_second(one).with_columns(aqm=pl.lit(NAMES[values["link.aqm"]]), seed=pl.lit(one.seed))
        for values, one in result.with_values()
    )


def per_second(one: Result) -> pl.DataFrame:
    """Each second of the forward link: rates `in_mbit` and `out_mbit`, mean `delay_ms` of the sent packets."""
    packets = one.packets.lazy().filter(pl.col("link") == "forward")
    step_s = step_of(one)
    mbit = 8e-6 * pl.col("bytes").sum() / step_s
    arrived_s = pl.col("time_s") - pl.col("sojourn_ms") / 1e3
    arrived = packets.group_by(second=(arrived_s / step_s).floor()).agg(in_mbit=mbit)
    sent = packets.filter(~pl.col("fate").cast(pl.String).str.starts_with("dropped"))
    left = sent.group_by(second=(pl.col("time_s") / step_s).floor()).agg(
        out_mbit=mbit, delay_ms=pl.col("sojourn_ms").mean()
    )
    whole = pl.LazyFrame({"second": np.arange(SECONDS, dtype=float)})
    table = whole.join(arrived, on="second", how="left").join(left, on="second", how="left")
    return table.with_columns(pl.col("in_mbit", "out_mbit").fill_null(0)).sort("second").collect()


def step_of(one: Result) -> float:
    """Seconds of the run that correspond to one second of the published run."""
    return round(one.duration_s) / SECONDS


def both_queues(cells: pl.DataFrame) -> tuple[Seconds, Seconds]:
    """Tail drop and CoDel."""
    tail, codel = (
        {name: chosen[name].to_numpy() for name in ("delay_ms", "in_mbit", "out_mbit")}
        for chosen in (cells.filter(pl.col("aqm") == name).sort("second") for name in NAMES.values())
    )
    return tail, codel


def thin(curve: dict[str, Any]) -> dict[str, Any]:
    """Style of a curve of many points: distinguished by colour, because dashes would be unreadable."""
    return curve | {"linewidth": 0.9, "linestyle": "-"}
