"""Figure 6: mean queue length over the number of FTPs.

Rising means never falling by more than one packet from one number to the next, and at least doubling over all.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.ns2_codel_variants import original as of_ns2
from sojourn.papers.ns2_codel_variants.sweeps import FAMILY, by_scheme, draw_sweep, ftp_cells, never_falls, over_ftps

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from sojourn.papers.original import Original
    from sojourn.studies.study import StudyResult

TITLE = "Figure 6: mean queue length over the number of FTPs"
STUDY = "ftps.toml"

CONSTANT_UP_TO = 100


def measure(result: StudyResult) -> Measurements:
    """Cells for the relations."""
    return over_ftps(result, RELATIONS)


def original() -> Original | None:
    """Cells of ns-2's runs, if they are recorded."""
    return of_ns2.over_ftps(RELATIONS)


def S2_F6(cells: pl.DataFrame) -> bool:
    """DropTail's queue rises; every other one changes by less than a factor of two up to 100 FTPs."""
    series = by_scheme(cells, "ftps", "queue")
    tail = series["DropTail"]
    family = [[value for at, value in series[name].items() if at <= CONSTANT_UP_TO] for name in FAMILY]
    rises = never_falls(tail, 1) and tail.get(1000, inf) > 2 * tail[1]
    return rises and all(max(one) < 2 * min(one) for one in family)


RELATIONS = relations_by_claim([S2_F6])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a curve per scheme."""
    return draw_sweep(ftp_cells(result), "ftps", "queue", log=True)
