"""Table 5: share of packets marked with ECN over share of packets dropped without, at a target of 5 ms.

Both rates are relative to arrivals. Variants beyond the paper are listed beside the published cells: CE-marked packets
excluded from the AQMs' measurements, as its section 7 recommends, and PIE with a limit on marking.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from sojourn.figures import marks
from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves, faint, muted
from sojourn.papers.cells import draw_line
from sojourn.papers.judge import Measurements, Relation, Verdict
from sojourn.papers.khademi2013.analysis import SENDERS, THREE, cells_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Table 5: marking rate (with ECN) over dropping rate (without)"
STUDY = "ecn.toml"
RELATIONS: dict[str, Relation] = {}

FLOWS = (4, 16, 32, 64)
KEYS = ("aqm", "variant", "flows")
VARIED = (*KEYS, "ecn")


def measure(result: StudyResult) -> Measurements:
    """Ratio of every cell and seed."""
    cells = ratios(cells_of(result, VARIED))
    published = cells.filter(pl.col("variant") == "")
    samples = {
        f"S3-T5-{aqm}-{flows // SENDERS}": published.filter((pl.col("aqm") == aqm) & (pl.col("flows") == flows))[
            "ratio"
        ].to_list()
        for aqm in THREE
        for flows in FLOWS
    }
    return Measurements(samples, cells, KEYS, RELATIONS)


def ratios(cells: pl.DataFrame) -> pl.DataFrame:
    """`ratio` of the marking rate to the dropping rate of the same AQM, load and seed without ECN."""
    drops = cells.filter(~pl.col("ecn")).select("aqm", "flows", "seed", dropping="drop_rate")
    both = cells.filter("ecn").join(drops, on=["aqm", "flows", "seed"])
    return both.select(*KEYS, "seed", "mark_rate", "dropping", ratio=pl.col("mark_rate") / pl.col("dropping"))


def draw(result: StudyResult, verdicts: Sequence[Verdict]) -> Figure:
    """Draw a panel per AQM: published ratios with their tight bands, and measured ones, by flows per sender."""
    by_id = {verdict["id"]: verdict for verdict in verdicts}
    cells = ratios(cells_of(result, VARIED))
    at = list(range(len(FLOWS)))
    with style():
        figure = new_figure(10.0, 3.8)
        panels = figure.subplots(1, 3, sharey=True)
        for axes, aqm in zip(panels, THREE, strict=True):
            claims = [by_id[f"S3-T5-{aqm}-{flows // SENDERS}"] for flows in FLOWS]
            lows, highs = ([claim["tight"][end] for claim in claims] for end in (0, 1))
            heights = [high - low for low, high in zip(lows, highs, strict=True)]
            marks.columns(axes, at, heights, "tight band", base=lows, width=0.5, color=faint())
            published = [claim["expected"] for claim in claims]
            marks.line(axes, at, published, "published", marker="D", linestyle="none", mfc="none", mec=muted())
            own = cells.filter(aqm=aqm).with_columns(at=pl.col("flows").replace_strict(FLOWS, at))
            variants = own["variant"].unique(maintain_order=True).to_list()
            for name, curve, marker in zip(variants, curves(len(variants)), "os^", strict=False):
                of_variant = own.filter(pl.col("variant") == name).with_columns(
                    at=pl.col("flows").replace_strict(FLOWS, at)
                )
                label = f"measured, {name}" if name else "measured"
                draw_line(axes, of_variant, "at", "ratio", marker=marker, label=label, **curve)
            axes.set_title(aqm, loc="left", fontweight="bold")
            axes.set_xticks(at, [str(flows // SENDERS) for flows in FLOWS])
            axes.set_xlabel("flows per sender")
        panels[0].set_ylim(bottom=0)
        panels[0].set_ylabel("marking rate / dropping rate")
        legend(figure)
        return figure
