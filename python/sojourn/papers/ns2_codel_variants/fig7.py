"""Figure 7: drop rate over the number of FTPs.

Very few FTPs are one and three, a low rate is below one per cent, and a marked rise around five means that the loss
ratio of seven FTPs is at least twice that of three, and at least one packet in a thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.ns2_codel_variants import original as of_ns2
from sojourn.papers.ns2_codel_variants.sweeps import by_scheme, draw_sweep, ftp_cells, over_ftps

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from sojourn.papers.original import Original
    from sojourn.studies.study import StudyResult

TITLE = "Figure 7: drop rate over the number of FTPs"
STUDY = "ftps.toml"

FEW = (1, 3, 5, 7)
"""The numbers of FTPs that the claim is about."""
LOW, NOTABLE = 0.01, 0.001


def measure(result: StudyResult) -> Measurements:
    """Cells for the relations."""
    return over_ftps(result, RELATIONS)


def original() -> Original | None:
    """Cells of ns-2's runs, if they are recorded."""
    return of_ns2.over_ftps(RELATIONS, FEW)


def S2_F7(cells: pl.DataFrame) -> bool:
    """Every scheme drops little with very few FTPs, and markedly more beyond five."""
    series = by_scheme(cells, "ftps", "drop_rate").values()
    return all(max(one[1], one[3]) < LOW and one[7] >= max(2 * one[3], NOTABLE) for one in series)


RELATIONS = relations_by_claim([S2_F7])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a curve per scheme."""
    return draw_sweep(ftp_cells(result), "ftps", "drop_rate")
