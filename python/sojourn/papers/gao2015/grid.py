"""The authors' grid of FTPs: 1,152 published runs and ours.

Four rates, twelve round-trip times and eight loads, each under CoDel, Hard Limit CoDel and a FIFO queue of 50 ms. No
claim is about it: the rows are compared one by one. A single flow at 64 Mbit/s is chaotic: ns-2 itself gives 2,370 kB/s
at a round-trip time of 198 ms and 4,419 at 202 ms. So these rows are also run with 2 ms less and 2 ms more, and shown
as a range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import floor
from typing import TYPE_CHECKING, Any

from sojourn.papers.gao2015 import published
from sojourn.papers.gao2015.analysis import point_of, round_trip_ms
from sojourn.papers.judge import Measurements, Relation, Verdict

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from sojourn.studies.study import Point, Study, StudyResult

TITLE = "The published grid of FTPs beside ours"
STUDY = "grid.toml"
RELATIONS: dict[str, Relation] = {}
CHAOTIC = ("64 Mbit/s", 1)
"""Rate and number of flows of the rows with a large change of throughput for a small change of the round-trip time."""
APART_MS = 2


def points(study: Study, _load: object) -> Study:
    """The grid, and its chaotic rows with round-trip times 2 ms shorter and longer, behind the same bottleneck."""
    chaotic = [one for one in study.points if (one.values["link.rate"], one.values["flows.0.count"]) == CHAOTIC]
    return replace(
        study, points=study.points + [_shifted(one, by_ms) for one in chaotic for by_ms in (-APART_MS, APART_MS)]
    )


def _shifted(point: Point, by_ms: int) -> Point:
    values = point.values | {"flows.0.rtt": f"{_microseconds(point.values['flows.0.rtt']) + 1000 * by_ms:.2f} us"}
    return point_of(point.scenario, values)


def measure(result: StudyResult) -> Measurements:
    """Throughput, maximum and mean delay of every run, and the published ones."""
    return published.join_published(result, _keys)


def shares(measured: Measurements) -> pl.DataFrame:
    """Number of rows near the published ones, by scheme and rate."""
    return published.shares_of(measured)


def _keys(run: dict[str, Any]) -> dict[str, Any]:
    rtt_ms = round_trip_ms(run["link.delay"])
    more_ms = _microseconds(run["flows.0.rtt"]) / 1000 - rtt_ms  # includes the access link, below 2 ms
    return {"rtt_ms": rtt_ms, "reverse": 0, "web": 0, "apart_ms": APART_MS * floor(more_ms / APART_MS)}


def _microseconds(rtt: str) -> float:
    return float(rtt.removesuffix(" us"))


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw ours over the published, a panel each for throughput, maximum and mean delay."""
    return published.draw(measure(result).cells)
