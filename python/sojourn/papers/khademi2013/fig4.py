"""Figure 4: goodput under three loads, by target. "Almost exactly the same" means within 1 %."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.khademi2013.analysis import EQUAL, HEAVY, LIGHT, MODERATE, THREE, cells_of, extreme, means, select
from sojourn.papers.khademi2013.fig3 import KEYS, draw_targets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Figure 4: goodput with 4, 16 and 64 flows"
STUDY = "targets.toml"


def measure(result: StudyResult) -> Measurements:
    """Median goodputs: at ARED's smallest target, the range over the targets, and of all with 64 flows."""
    cells = cells_of(result, KEYS)
    light = select(cells, flows=LIGHT)
    samples = {"S3-F4-ARED-1ms": select(light, aqm="ARED", target_ms=1.0)["g50"].to_list()}
    for aqm in THREE:
        own = select(light, aqm=aqm)
        own = own.filter(pl.col("target_ms") > 1) if aqm == "ARED" else own
        samples[f"S3-F4-{aqm}-light-min"] = extreme(own, "g50", ["target_ms"], highest=False)
        samples[f"S3-F4-{aqm}-light-max"] = extreme(own, "g50", ["target_ms"], highest=True)
    samples["S3-F4-heavy"] = means(cells, "g50", "seed", flows=HEAVY)
    return Measurements(samples, cells, KEYS, RELATIONS)


def S3_F4_mod(cells: pl.DataFrame) -> bool:
    """With 16 flows ARED's goodput equals CoDel's and PIE's at every target except 1 ms, where it is lower."""
    codel, pie, ared = (means(cells, "g50", "target_ms", aqm=aqm, flows=MODERATE) for aqm in THREE)
    others = [other for pair in zip(codel[1:], pie[1:], strict=True) for other in pair]
    own = [value for value in ared[1:] for _ in range(2)]
    same = all(abs(a - b) <= EQUAL * b for a, b in zip(own, others, strict=True))
    return same and ared[0] < min(codel[0], pie[0])


RELATIONS = relations_by_claim([S3_F4_mod])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a panel per load: boxes of the goodput by target."""
    return draw_targets(result, "g")
