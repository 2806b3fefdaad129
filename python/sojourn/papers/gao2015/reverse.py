"""IV (no figure in the paper): mean delay and utilisation with 0, 1 and 4 reverse FTPs.

The paper does not state the scheme; both CoDels count. "Most of the time under 50 ms" is the share of the points with
reverse FTPs and a mean delay below that; "a lot higher" and "a bit lower" are judged by the means over the grid of
rates and loads, for either scheme and either number of reverse FTPs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.figures import marks
from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import LINES, curves
from sojourn.papers.cells import by_seed, draw_line
from sojourn.papers.gao2015 import analysis
from sojourn.papers.gao2015.analysis import CODEL, HARD_LIMIT, RATES, grid, plain_log, plural
from sojourn.papers.gao2015.original import as_original
from sojourn.papers.gao2015.original import grid as grid_of_runs
from sojourn.papers.judge import Check, Measurements, Verdict, all_checks, relations_by_claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.papers.original import Original
    from sojourn.studies.study import StudyResult

TITLE = "IV: mean delay and utilisation with reverse FTPs"
STUDY = "reverse.toml"

REVERSE = (1, 4)
LOADS = (1, 8, 64)
LOW_MS = 50


def measure(result: StudyResult) -> Measurements:
    """Share of points with a low delay; mean delay and utilisation of every run."""
    cells = _cells(result)
    samples = {"S1-REV": [_low(one) for one in by_seed(cells)]}
    return Measurements(samples, cells, ("scheme", "rate", "flows", "reverse"), RELATIONS)


def original() -> Original:
    """Share of points with a low delay in the authors' runs.

    They published no runs without reverse FTPs at this round-trip time, so the effect of reverse FTPs is unknown.
    """
    loaded = pl.col("reverse").is_in(REVERSE) & pl.col("flows").is_in(LOADS)
    cells = grid_of_runs().filter(loaded & pl.col("scheme").is_in([CODEL, HARD_LIMIT]))
    return as_original(Measurements({"S1-REV": [_low(cells)]}, cells, (), {}))


def _cells(result: StudyResult) -> pl.DataFrame:
    return analysis.cells_of(result, _reverse)


def _reverse(run: dict[str, Any]) -> dict[str, Any]:
    return {"reverse": run["flows.1.count"] if run["flows.1.start"] == "0 s" else 0}


def _low(cells: pl.DataFrame) -> float:
    loaded = cells.filter(pl.col("reverse") > 0)
    return loaded.filter(pl.col("mean_ms") < LOW_MS).height / loaded.height


@all_checks
def S1_REV2(cells: pl.DataFrame) -> Iterator[Check]:
    """Reverse FTPs raise the delay and lower the utilisation."""
    delay, use = (grid(cells, value, "scheme", "reverse") for value in ("mean_ms", "utilisation"))
    for scheme, number in product((CODEL, HARD_LIMIT), REVERSE):
        less, more = delay[scheme, 0], delay[scheme, number]
        yield Check(more > less, f"{scheme}: {less:.4g} ms without, {more:.4g} with {number}")
        less, more = use[scheme, number], use[scheme, 0]
        yield Check(less < more, f"{scheme}: {more:.3f} without, {less:.3f} with {number}")


RELATIONS = relations_by_claim([S1_REV2])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw delay above utilisation, a column per load, a curve per scheme and number of reverse FTPs."""
    cells = _cells(result)
    numbers = (0, *REVERSE)
    with style():
        figure = new_figure(10.0, 6.0)
        panels = figure.subplots(2, len(LOADS), sharex=True, sharey="row")
        for column, load in enumerate(LOADS):
            for scheme, curve in zip((CODEL, HARD_LIMIT), curves(2), strict=True):
                for number, line, marker in zip(numbers, LINES, "os^", strict=False):
                    chosen = (pl.col("scheme") == scheme) & (pl.col("flows") == load) & (pl.col("reverse") == number)
                    look = {
                        "label": f"{scheme}, {number} reverse",
                        "marker": marker,
                        "color": curve["color"],
                        "linestyle": line,
                    }
                    own = cells.filter(chosen)
                    draw_line(panels[0][column], own, "rate", "mean_ms", **look)
                    draw_line(panels[1][column], own, "rate", "utilisation", scale=100, **look)
            panels[0][column].set_title(plural(load, "FTP"), loc="left", fontweight="bold")
            marks.reference(panels[0][column], LOW_MS, "limit")
            panels[1][column].set_xlabel("rate [Mbit/s]   (dotted: 50 ms)")
        panels[0][0].set_ylim(bottom=0)
        panels[1][0].set_ylim(0, 103)
        plain_log(panels[0][0], "x", RATES)
        panels[0][0].set_ylabel("mean delay [ms]")
        panels[1][0].set_ylabel("utilisation [%]")
        legend(figure)
        return figure
