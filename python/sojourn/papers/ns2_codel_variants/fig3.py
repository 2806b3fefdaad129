"""Figure 3: mean queue length over the bandwidth.

A queue falls at high bandwidth if it is below half of its peak at the highest. Low bandwidths are 1 to 10 Mbit/s, up to
the default of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.ns2_codel_variants import original as of_ns2
from sojourn.papers.ns2_codel_variants.sweeps import FAMILY, bandwidth_cells, by_scheme, draw_sweep, over_bandwidth

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from sojourn.papers.original import Original
    from sojourn.studies.study import StudyResult

TITLE = "Figure 3: mean queue length over the bandwidth"
STUDY = "bandwidth.toml"

LOW_MBIT = (1, 2, 5, 10)


def measure(result: StudyResult) -> Measurements:
    """Cells for the relations."""
    return over_bandwidth(result, RELATIONS)


def original() -> Original | None:
    """Cells of ns-2's runs, if they are recorded."""
    return of_ns2.over_bandwidth(RELATIONS)


def S2_F3_a(cells: pl.DataFrame) -> bool:
    """Every scheme's queue falls at high bandwidth; DropTail's peak is at neither end of the sweep."""
    series = by_scheme(cells, "rate_mbit", "queue")
    tail = list(series["DropTail"].values())
    falls = all(one[1000] < max(one.values()) / 2 for one in series.values())
    return falls and tail[0] < max(tail) > tail[-1]


def S2_F3_b(cells: pl.DataFrame) -> bool:
    """At low bandwidths every queue of the CoDel family is below a third of DropTail's."""
    series = by_scheme(cells, "rate_mbit", "queue")
    return all(series[name][at] < series["DropTail"][at] / 3 for name in FAMILY for at in LOW_MBIT)


RELATIONS = relations_by_claim([S2_F3_a, S2_F3_b])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a curve per scheme."""
    return draw_sweep(bandwidth_cells(result), "rate_mbit", "queue", log=True)
