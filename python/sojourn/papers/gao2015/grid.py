"""The authors' grid of FTPs: 1,152 published runs and ours.

Four rates, twelve round-trip times and eight loads, each under CoDel, Hard Limit CoDel and a FIFO queue of 50 ms. No
claim is about it: the rows are compared one by one. A single flow at 64 Mbit/s is chaotic; ns-2 itself gives 2,370 kB/s
at a round-trip time of 198 ms and 4,419 at 202 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.papers.gao2015 import published
from sojourn.papers.gao2015.analysis import round_trip_ms
from sojourn.papers.judge import Measured, Relation, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "The published grid of FTPs beside ours"
STUDY = "grid.toml"
RELATIONS: dict[str, Relation] = {}


def measure(result: StudyResult) -> Measured:
    """Throughput, largest and mean delay of every run, and the published ones."""
    return published.compared(result, lambda run: {"rtt_ms": round_trip_ms(run["link.delay"]), "reverse": 0, "web": 0})


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw ours over the published, a panel for throughput, largest and mean delay each."""
    return published.draw(measure(result).cells)
