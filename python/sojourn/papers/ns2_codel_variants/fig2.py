"""Figure 2: utilisation over the bandwidth.

Decreasing means never rising by more than one point from one bandwidth to the next, and falling over all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.ns2_codel_variants import original as of_ns2
from sojourn.papers.ns2_codel_variants.sweeps import bandwidth_cells, by_scheme, draw_sweep, never_rises, over_bandwidth

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from sojourn.papers.original import Original
    from sojourn.studies.study import StudyResult

TITLE = "Figure 2: utilisation over the bandwidth"
STUDY = "bandwidth.toml"


def measure(result: StudyResult) -> Measurements:
    """Cells for the relations."""
    return over_bandwidth(result, RELATIONS)


def original() -> Original | None:
    """Cells of ns-2's runs, if they are recorded."""
    return of_ns2.over_bandwidth(RELATIONS)


def S2_F2_a(cells: pl.DataFrame) -> bool:
    """Every scheme's utilisation decreases with the bandwidth."""
    series = by_scheme(cells, "rate_mbit", "utilisation").values()
    return all(never_rises(one, 0.01) and one[1000] < one[1] for one in series)


def S2_F2_b(cells: pl.DataFrame) -> bool:
    """No scheme's utilisation is above sfqCoDel's by more than two points, at any bandwidth."""
    series = by_scheme(cells, "rate_mbit", "utilisation")
    return all(series["sfqCoDel"][at] >= value - 0.02 for one in series.values() for at, value in one.items())


RELATIONS = relations_by_claim([S2_F2_a, S2_F2_b])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a curve per scheme."""
    return draw_sweep(bandwidth_cells(result), "rate_mbit", "utilisation")
