"""IV (no figure in the paper): PackMime web traffic beside 1 and 8 FTPs.

High bandwidth is 64 Mbit/s, judged by the goodput of the FTPs; low bandwidth is 1 Mbit/s, judged by the utilisation.
Both are means over the loads, for CoDel and Hard Limit CoDel, with each rate of web traffic against none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.papers.cells import draw_line
from sojourn.papers.gao2015 import analysis
from sojourn.papers.gao2015.analysis import CODEL, HARD_LIMIT, RATES, grid, plain_log, plural
from sojourn.papers.judge import Check, Measurements, Verdict, all_checks, relations_by_claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "IV: bulk goodput and utilisation with web traffic"
STUDY = "web.toml"

WEB = (10, 20, 40, 80)
LOADS = (1, 8)
LOW_RATE, HIGH_RATE = RATES[0], RATES[-1]


def measure(result: StudyResult) -> Measurements:
    """Goodput of the FTPs and utilisation of every run."""
    return Measurements({}, _cells(result), ("scheme", "rate", "flows", "web"), RELATIONS)


def _cells(result: StudyResult) -> pl.DataFrame:
    cells = analysis.cells_of(result, _web)
    bulk = [float(one.groups["goodput_bps"][0]) / 1e6 for one in result.results]
    return cells.with_columns(bulk_mbps=pl.Series(bulk))


def _web(run: dict[str, Any]) -> dict[str, Any]:
    return {"web": run["flows.1.connections_per_second"] if run["flows.1.start"] == "0 s" else 0}


@all_checks
def S1_WEB(cells: pl.DataFrame) -> Iterator[Check]:
    """Web traffic takes some throughput from the FTPs at the high rate and fills the link at the low one."""
    bulk, use = (grid(cells, value, "scheme", "rate", "web") for value in ("bulk_mbps", "utilisation"))
    for scheme, web in product((CODEL, HARD_LIMIT), WEB):
        none, some = bulk[scheme, HIGH_RATE, 0], bulk[scheme, HIGH_RATE, web]
        yield Check(some < none, f"{scheme}, {web} connections/s: {some:.4g} Mbit/s for {none:.4g}")
        none, some = use[scheme, LOW_RATE, 0], use[scheme, LOW_RATE, web]
        yield Check(some > none, f"{scheme}, {web} connections/s: utilisation {some:.4f} for {none:.4f}")


RELATIONS = relations_by_claim([S1_WEB])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw utilisation and the FTPs' share of the link, a column per load, a curve per rate of web traffic."""
    cells = _cells(result).with_columns(share=pl.col("bulk_mbps") / pl.col("rate"))
    rates = (0, *WEB)
    with style():
        figure = new_figure(10.0, 6.0)
        columns = list(product(LOADS, (CODEL, HARD_LIMIT)))
        panels = figure.subplots(2, len(columns), sharex=True, sharey="row")
        for column, (load, scheme) in enumerate(columns):
            own = cells.filter((pl.col("scheme") == scheme) & (pl.col("flows") == load))
            for web, curve, marker in zip(rates, curves(len(rates)), "os^vD", strict=True):
                chosen = own.filter(pl.col("web") == web)
                look = {"label": f"{web} connections/s", "marker": marker, **curve}
                draw_line(panels[0][column], chosen, "rate", "utilisation", scale=100, **look)
                draw_line(panels[1][column], chosen, "rate", "share", scale=100, **look)
            panels[0][column].set_title(f"{scheme},\n{plural(load, 'FTP')}", loc="left", fontweight="bold")
            panels[1][column].set_xlabel("rate [Mbit/s]")
        for row in panels:
            row[0].set_ylim(0, 103)
        plain_log(panels[0][0], "x", RATES)
        panels[0][0].set_ylabel("utilisation [%]")
        panels[1][0].set_ylabel("goodput of the FTPs [% of the rate]")
        legend(figure)
        return figure
