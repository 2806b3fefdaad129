"""The authors' runs with reverse FTPs and with web traffic: 672 published runs and ours.

The round-trip time is 120 ms. No claim is about them as a whole: the rows are compared one by one. Web traffic is
random, so its rows can agree no better than two seeds of ns-2 do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sojourn.papers.gao2015 import published
from sojourn.papers.judge import Measurements, Relation, Verdict

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "The published runs with reverse FTPs and web traffic beside ours"
STUDY = "traffic.toml"
RELATIONS: dict[str, Relation] = {}
AT_START = "0 s"


def measure(result: StudyResult) -> Measurements:
    """Throughput, maximum and mean delay of every run, and the published ones."""
    return published.join_published(result, _keys)


def shares(measured: Measurements) -> pl.DataFrame:
    """Number of rows near the published ones, by scheme, number of reverse FTPs and web connections a second."""
    return published.shares_of(measured, "scheme", "reverse", "web")


def _keys(run: dict[str, Any]) -> dict[str, Any]:
    reverse = run["flows.1.count"] if run["flows.1.start"] == AT_START else 0
    web = run["flows.2.connections_per_second"] if run["flows.2.start"] == AT_START else 0
    return {"rtt_ms": 120, "reverse": reverse, "web": web}


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw ours over the published, a panel each for throughput, maximum and mean delay."""
    return published.draw(measure(result).cells)
