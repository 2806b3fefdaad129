"""Figure 4: drop rate over the bandwidth.

Decreasing means never rising by more than one point. Rates are compared if a scheme drops at least one packet in a
thousand; "slightly better" is a lower mean over the bandwidths.
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

TITLE = "Figure 4: drop rate over the bandwidth"
STUDY = "bandwidth.toml"

NOTABLE = 0.001


def measure(result: StudyResult) -> Measurements:
    """Cells for the relations."""
    return over_bandwidth(result, RELATIONS)


def original() -> Original | None:
    """Cells of ns-2's runs, if they are recorded."""
    return of_ns2.over_bandwidth(RELATIONS)


def S2_F4(cells: pl.DataFrame) -> bool:
    """Drop rates decrease with the bandwidth and are similar; CoDel and sfqCoDel have the lower means."""
    series = by_scheme(cells, "rate_mbit", "drop_rate")
    columns = list(zip(*(one.values() for one in series.values()), strict=True))
    similar = all(max(rates) < 2 * min(rates) for rates in columns if max(rates) >= NOTABLE)
    mean = {name: sum(one.values()) for name, one in series.items()}
    better = max(mean["CoDel"], mean["sfqCoDel"]) < min(mean["DropTail"], mean["CoDel-DT"])
    return all(never_rises(one, 0.01) for one in series.values()) and similar and better


RELATIONS = relations_by_claim([S2_F4])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a curve per scheme."""
    return draw_sweep(bandwidth_cells(result), "rate_mbit", "drop_rate")
