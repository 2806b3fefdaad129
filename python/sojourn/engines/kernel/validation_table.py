"""Table of the comparison of the simulator with the kernel, a row per cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from sojourn.engines.kernel.grid import AnyPoint, Cell, RepeatedCell


@dataclass(frozen=True)
class Cause:
    """A reason why matching cells differ."""

    applies: Callable[[Cell], bool]
    text: str


@dataclass(frozen=True)
class Causes:
    """Known causes of differences in a grid; the first match wins."""

    seeds: Sequence[Cause] = ()
    """Why seeds differ; does not explain a cell with the verdict "apart"."""
    apart: Sequence[Cause] = ()
    """Why cells are apart."""


MARKS_ALL = 50.0
SEEDS = (
    Cause(
        lambda cell: cell.point.ecn and cell.point.aqm == "ared" and cell.there["marks"] > MARKS_ALL,
        "RED beyond its upper threshold marks all data and drops every SYN, so only the first flows exist, each with "
        "its minimum window; their number sets the backlog and Jain's index",
    ),
    Cause(
        lambda cell: cell.point.ecn and cell.point.aqm == "ared" and cell.point.flows > 1,
        "a flow whose SYN is dropped continues without ECN (RFC 3168 §6.1.1.1), which raises goodput and lowers marks: "
        "with 8 flows at 50 ms 7.3, 7.6, 8.1 and 8.5 Mbit/s for one to four such flows",
    ),
    Cause(
        lambda cell: cell.point.flows == 1 and cell.point.aqm in ("pie", "ared"),
        "the window of a single flow is reduced a few times per run, at random times that decide the goodput",
    ),
)
"""Causes in the grid of queues."""

AGREES, MEANS_AGREE, WITHIN_SEEDS, APART = VERDICTS = ("agrees", "means agree", "within seeds", "apart")
"""A cell agrees with seed 1, or in the mean over seeds, or is within the spread of the simulator's seeds, or is not."""
COLUMNS = {
    "delivered": "delivered_mbps",
    "delay": "delay_p50_ms",
    "tail": "delay_p95_ms",
    "drops": "drops_percent",
    "marks": "marks_percent",
    "jain": "jain",
}
MEANS = {"delivered": "mean_delivered_mbps", "delay": "mean_delay_p50_ms"}


def table(
    cells: Sequence[Cell], again: Mapping[AnyPoint, RepeatedCell], kernel: str, causes: Causes | None = None
) -> pl.DataFrame:
    """Make a row per cell; `again` has the repetitions of the cells that do not agree with seed 1."""
    causes = causes or Causes(SEEDS)
    rows = []
    for cell in cells:
        point = cell.point
        row: dict[str, object] = {
            "aqm": point.aqm,
            "ecn": point.ecn,
            "cc": point.control,
            "rate_mbps": point.rate,
            "rtt_ms": point.rtt,
            "flows": point.flows,
            "duration_s": point.duration_s,
        }
        for key, name in COLUMNS.items():
            row |= {f"{name}_there": cell.there[key], f"{name}_here": cell.here[key]}
        repeated = None if cell.agrees else again[point]
        row |= {"bands": cell.distance, "verdict": verdict(repeated)}
        row |= {"seeds_there": repeated and repeated.seeds_there, "seeds_here": repeated and repeated.seeds_here}
        for key, name in MEANS.items():
            row[f"{name}_there"] = repeated and repeated.mean.there[key]
            row[f"{name}_here"] = repeated and repeated.mean.here[key]
        rows.append(row | {"remark": _remark(cell, str(row["verdict"]), causes), "kernel": kernel})
    return pl.DataFrame(rows, infer_schema_length=None)


def verdict(repeated: RepeatedCell | None) -> str:
    """Return the verdict on a cell from its repetitions; `None` if seed 1 agrees."""
    if repeated is None:
        return AGREES
    if repeated.is_chance:
        return MEANS_AGREE
    return APART if repeated.is_outside_spread else WITHIN_SEEDS


def _remark(cell: Cell, verdict: str, causes: Causes) -> str | None:
    """Return the known cause; `None` if the cell agrees or the cause is unknown."""
    if verdict == AGREES:
        return None
    known = causes.apart if verdict == APART else causes.seeds
    return next((cause.text for cause in known if cause.applies(cell)), None)
