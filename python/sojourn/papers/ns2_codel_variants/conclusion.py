"""The conclusion: sfqCoDel against the others at every point of the sweeps, round-trip times included.

Tied is within one point of the best utilisation, within 10 % or half a packet of the shortest queue, and within half a
point of the lowest drop rate. "Most" is more than half of the points, for each of the three metrics; points that were
not run count in its favour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from sojourn.figures import marks
from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.ns2_codel_variants import original as of_ns2
from sojourn.papers.ns2_codel_variants.sweeps import LABELS, METRICS, SCHEMES, cells_of, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.papers.original import Original
    from sojourn.studies.study import StudyResult

TITLE = "Conclusion: share of all sweep points where a scheme is best or tied"
STUDY = "conclusion.toml"
POINT = ("rate_mbit", "ftps", "rtt_ms")


def measure(result: StudyResult) -> Measurements:
    """Cells of every point."""
    return Measurements({}, conclusion_cells(result), ("scheme", *POINT), RELATIONS)


def original() -> Original | None:
    """Cells of ns-2's runs, if they are recorded."""
    return of_ns2.at_all_points(RELATIONS)


def conclusion_cells(result: StudyResult) -> pl.DataFrame:
    """One row per run: `scheme`, the columns of `POINT`, `seed` and the metrics."""
    ftps = pl.col("flows.0.count").cast(pl.Float64).alias("ftps")
    return cells_of(result, [number("link.rate").alias("rate_mbit"), ftps, number("flows.0.rtt").alias("rtt_ms")])


def best_or_tied(cells: pl.DataFrame) -> pl.DataFrame:
    """Share of the points at which a scheme is best or tied, by scheme and metric."""
    most = pl.col("utilisation").max().over(POINT)
    shortest, least = pl.col("queue").min().over(POINT), pl.col("drop_rate").min().over(POINT)
    good = cells.select(
        "scheme",
        utilisation=pl.col("utilisation") >= most - 0.01,
        queue=pl.col("queue") <= pl.max_horizontal(1.1 * shortest, shortest + 0.5),
        drop_rate=pl.col("drop_rate") <= least + 0.005,
    )
    return good.group_by("scheme", maintain_order=True).mean()


def S2_C(cells: pl.DataFrame) -> bool:
    """In most points sfqCoDel is best or tied in utilisation, in mean queue and in drop rate."""
    _, *of_metrics = best_or_tied(cells).filter(pl.col("scheme") == "sfqCoDel").row(0)
    run, points = cells.select(POINT).unique().height, len(of_ns2.every_point())
    return all(share * run + points - run > 0.5 * points for share in of_metrics)


RELATIONS = relations_by_claim([S2_C])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw the shares of the means over all seeds, as bars."""
    means = conclusion_cells(result).group_by("scheme", *POINT, maintain_order=True).mean()
    found = best_or_tied(means)
    names = list(METRICS.values())
    width = 0.8 / len(SCHEMES)
    with style():
        figure = new_figure(7.0, 4.0)
        axes = figure.subplots()
        for index, (scheme, curve) in enumerate(zip(SCHEMES.values(), curves(len(SCHEMES)), strict=True)):
            row = found.filter(pl.col("scheme") == scheme)
            at = [place + (index - (len(SCHEMES) - 1) / 2) * width for place in range(len(names))]
            shares_of = [100 * row[name][0] for name in names]
            marks.columns(axes, at, shares_of, scheme, width=width, color=curve["color"])
        marks.reference(axes, 50, "limit")
        axes.set_xticks(range(len(names)), [LABELS[name].split(" [")[0] for name in names])
        axes.set_ylabel("best or tied [% of points]")
        axes.set_ylim(0, 100)
        legend(axes.figure)
        return figure
