"""Figure 5: utilisation over the number of FTPs.

Rising means never falling by more than one point from one number to the next, and being higher with 1000 than with one.
Many are 100 and more; "clearly lower" is by five points.
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

TITLE = "Figure 5: utilisation over the number of FTPs"
STUDY = "ftps.toml"

MANY = 100


def measure(result: StudyResult) -> Measurements:
    """Cells for the relations."""
    return over_ftps(result, RELATIONS)


def original() -> Original | None:
    """Cells of ns-2's runs, if they are recorded."""
    return of_ns2.over_ftps(RELATIONS)


def S2_F5_a(cells: pl.DataFrame) -> bool:
    """The CoDel family is within five points for every number of FTPs, and its utilisation rises with it."""
    series = by_scheme(cells, "ftps", "utilisation")
    family = [series[name] for name in FAMILY]
    close = all(max(at) - min(at) <= 0.05 for at in zip(*(one.values() for one in family), strict=True))
    return close and all(never_falls(one, 0.01) and one.get(1000, inf) > one[1] for one in family)


def S2_F5_b(cells: pl.DataFrame) -> bool:
    """With many FTPs DropTail's utilisation is clearly lower than that of every other scheme."""
    series = by_scheme(cells, "ftps", "utilisation")
    many = [at for at in series["DropTail"] if at >= MANY]
    return all(series["DropTail"][at] <= series[name][at] - 0.05 for name in FAMILY for at in many)


RELATIONS = relations_by_claim([S2_F5_a, S2_F5_b])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a curve per scheme."""
    return draw_sweep(ftp_cells(result), "ftps", "utilisation")
