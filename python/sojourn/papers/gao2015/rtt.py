"""IV (no figure in the paper): mean delay at round-trip times of 10, 100 and 500 ms.

"Generally" is judged by the mean over the grid of rates and loads, for each scheme; "no significant difference" by the
order of the three schemes in these means, which must be the same at each round-trip time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.papers.cells import draw_line
from sojourn.papers.gao2015 import analysis
from sojourn.papers.gao2015.analysis import RATES, SCHEMES, grid, plain_log, plural, round_trip_ms
from sojourn.papers.gao2015.original import as_original, ftps
from sojourn.papers.judge import Check, Measurements, Verdict, all_checks, relations_by_claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.papers.original import Original
    from sojourn.studies.study import StudyResult

TITLE = "IV: mean delay over the round-trip time"
STUDY = "rtt.toml"

RTTS = (10, 100, 500)
LOADS = (1, 8, 64)


def measure(result: StudyResult) -> Measurements:
    """Mean delay of every run."""
    return _measured(_cells(result))


def original() -> Original:
    """Mean delay of the authors' runs."""
    return as_original(_measured(ftps(RTTS, LOADS)))


def _measured(cells: pl.DataFrame) -> Measurements:
    return Measurements({}, cells, ("scheme", "rate", "rtt_ms", "flows"), RELATIONS)


def _cells(result: StudyResult) -> pl.DataFrame:
    return analysis.cells_of(result, lambda run: {"rtt_ms": round_trip_ms(run["link.delay"])})


@all_checks
def S1_RTT(cells: pl.DataFrame) -> Iterator[Check]:
    """The delay falls with the round-trip time, and the order of the schemes is the same at each."""
    delay = grid(cells, "mean_ms", "scheme", "rtt_ms")
    schemes = list(SCHEMES.values())
    for scheme in schemes:
        low, middle, high = (delay[scheme, rtt] for rtt in RTTS)
        yield Check(low > middle > high, f"{scheme}: {low:.4g}, {middle:.4g}, {high:.4g} ms at {_LISTED}")
    first, *others = (sorted(schemes, key=lambda scheme: delay[scheme, rtt]) for rtt in RTTS)
    for rtt, order in zip(RTTS[1:], others, strict=True):
        listed = ", ".join(f"{scheme} {delay[scheme, rtt]:.4g} ms" for scheme in order)
        yield Check(order == first, f"at {rtt} ms {listed}; at {RTTS[0]} ms {', '.join(first)}")


_LISTED = f"{', '.join(str(rtt) for rtt in RTTS)} ms"


RELATIONS = relations_by_claim([S1_RTT])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a panel per load and rate with a curve per scheme."""
    cells = _cells(result)
    with style():
        figure = new_figure(10.0, 6.4)
        panels = figure.subplots(len(LOADS), len(RATES), sharex=True, sharey="row")
        for row, load in zip(panels, LOADS, strict=True):
            for axes, rate in zip(row, RATES, strict=True):
                at = cells.filter((pl.col("rate") == rate) & (pl.col("flows") == load))
                for scheme, curve, marker in zip(SCHEMES.values(), curves(len(SCHEMES)), "os^", strict=True):
                    own = at.filter(pl.col("scheme") == scheme)
                    draw_line(axes, own, "rtt_ms", "mean_ms", label=scheme, marker=marker, **curve)
            row[0].set_ylabel(f"{plural(load, 'FTP')}\nmean delay [ms]")
        for row in panels:
            row[0].set_ylim(bottom=0)
        for axes, rate in zip(panels[0], RATES, strict=True):
            axes.set_title(f"{rate} Mbit/s", loc="left", fontweight="bold")
        plain_log(panels[0][0], "x", RTTS)
        for axes in panels[-1]:
            axes.set_xlabel("round-trip time [ms]")
        legend(figure)
        return figure
