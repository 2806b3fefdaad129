"""Common analysis of figures 12 and 13: the runs with a rate in steps, by scheme."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from sojourn.papers.gao2015.analysis import CODEL, HARD_LIMIT

if TYPE_CHECKING:
    from sojourn.model.results.result import Result
    from sojourn.studies.study import StudyResult

STUDY = "dynamic.toml"
EMULATED = "dynamic-emulated.toml"

SMALL = "CoDel, 417 packets"
FIFO = "FIFO, 417 packets"
"""Only with real programs and in the authors' runs; no claim is about it."""
SCHEMES = {
    ("codel@ns2-patch", "1000 packets"): CODEL,
    ("codel@hardlimit-ns2", "1000000 packets"): HARD_LIMIT,
    ("codel@ns2-patch", "417 packets"): SMALL,
    ("droptail", "417 packets"): FIFO,
}
STEP_S = 50.0
RATES = (100, 10, 1, 50, 1, 100)
"""Rate of each step in Mbit/s."""
LAST_FALL = 4
"""Index of the step that begins with the fall from 50 to 1 Mbit/s."""


def runs(result: StudyResult) -> Iterator[tuple[str, Result]]:
    """Scheme name and result of every run."""
    for values, one in result.with_values():
        yield SCHEMES[values["link.aqm"], values["link.limit"]], one


def first_runs(result: StudyResult) -> dict[str, Result]:
    """First seed's run of every scheme, shown in figures over time."""
    found: dict[str, Result] = {}
    for scheme, one in runs(result):
        found.setdefault(scheme, one)
    return found


def sent(result: Result) -> pl.DataFrame:
    """Packets sent on the forward link: `time_s` and `sojourn_ms`."""
    dropped = pl.col("fate").cast(pl.String).str.starts_with("dropped")
    return result.packets.filter((pl.col("link") == "forward") & ~dropped).select("time_s", "sojourn_ms")
