"""III.E.4 (no figure in the paper): utilisation over time with 16 flows, also for CoDel with a constant count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.figures import marks
from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.schwarzkopf2016.analysis import AQMS, cells_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.model.results.result import Result
    from sojourn.studies.study import StudyResult

TITLE = "III.E.4: utilisation of every second, 16 flows"
STUDY = "utilisation.toml"

NAMES = AQMS | {f"codel@count-n n {n}": f"CoDel-count-{n}" for n in (600, 6000, 60000)}
SPANS_S = {"S0-U-CoDel-start": (2, 5), "S0-U-CoDel-30": (25, 60), "S0-U-CoDel-500": (490, 510)}
WHOLE_S = (10, 510)
WHOLE = {
    "S0-U-ACT": "CoDel-ACT",
    "S0-U-PIE": "PIE",
    "S0-U-count-600": "CoDel-count-600",
    "S0-U-count-6000": "CoDel-count-6000",
    "S0-U-count-60000": "CoDel-count-60000",
}


def measure(result: StudyResult) -> Measurements:
    """Mean utilisation over the time spans in the text."""
    rows: list[dict[str, Any]] = []
    for name, one in _named(result):
        spans = {claim: mean_over(one, *span) for claim, span in SPANS_S.items()}
        rows.append({"aqm": name, "seed": one.seed, "whole": mean_over(one, *WHOLE_S), **spans})
    cells = cells_of(rows)
    codel = cells.filter(pl.col("aqm") == "CoDel")
    samples = {claim: codel[claim].to_list() for claim in SPANS_S}
    samples |= {claim: cells.filter(pl.col("aqm") == name)["whole"].to_list() for claim, name in WHOLE.items()}
    return Measurements(samples, cells, ("aqm",), RELATIONS)


def mean_over(one: Result, start_s: float, end_s: float) -> float:
    """Mean of the steps within a span."""
    inside = (pl.col("link") == "forward") & (pl.col("time_s") > start_s) & (pl.col("time_s") <= end_s)
    return float(one.utilisation.filter(inside)["utilisation"].mean() or 0)  # type: ignore[arg-type]


def _named(result: StudyResult) -> list[tuple[str, Result]]:
    return [(NAMES[values["link.aqm"]], one) for values, one in result.with_values()]


def S0_U_nonmono(cells: pl.DataFrame) -> bool:
    """The utilisation is lowest with a count of 6000, higher with 60000, highest with 600."""
    of = dict(cells.select("aqm", "whole").iter_rows())
    return bool(of["CoDel-count-6000"] < of["CoDel-count-60000"] < of["CoDel-count-600"])


RELATIONS = relations_by_claim([S0_U_nonmono])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw the utilisation in steps of 10 s, the mean over all seeds."""
    frames = [
        one.utilisation.filter(pl.col("link") == "forward").with_columns(aqm=pl.lit(name))
        for name, one in _named(result)
    ]
    step = (((pl.col("time_s") - 1e-9) / 10).floor() * 10 + 5).alias("step")
    means = pl.concat(frames).group_by("aqm", step, maintain_order=True).agg(percent=100 * pl.col("utilisation").mean())
    with style():
        figure = new_figure(8.0, 4.0)
        axes = figure.subplots()
        for name, curve in zip(NAMES.values(), curves(len(NAMES)), strict=True):
            own = means.filter(pl.col("aqm") == name).sort("step")
            if own.is_empty():  # left out
                continue
            marks.line(axes, own["step"], own["percent"], name, **curve)
        axes.set_xlabel("time [s]   (means over 10 s)")
        axes.set_ylabel("utilisation [%]")
        axes.set_xlim(0, 510)
        legend(axes.figure)
        return figure
