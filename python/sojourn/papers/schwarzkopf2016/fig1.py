"""Figure 1: queueing delay of consecutive packets in the first ten seconds, and the duration of its first peak.

The paper does not define the initial phase. Here it lasts from the first packet until a packet sent after the peak
waited less than twice qdelay_ref, for every AQM.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.figures import marks
from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.model.analysis.packets import packets
from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.schwarzkopf2016.analysis import (
    AQMS,
    DENSE,
    LOADS,
    QDELAY_REF_MS,
    cells_of,
    column,
    first_runs,
    per_seed,
    runs,
    without_act,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Figure 1: queueing delay of consecutive packets after the start"
STUDY = "fig1.toml"

HIGH_MS = 2 * QDELAY_REF_MS
SETTLED_S = 6.0


def measure(result: StudyResult) -> Measurements:
    """Height and length of the first peak of every run."""
    traces = {(aqm, flows, seed): packets(one) for aqm, flows, seed, one in runs(result)}
    rows = [_row(key, trace, traces) for key, trace in traces.items()]
    cells = cells_of(rows)
    samples = {
        "S0-F1-b": per_seed(cells, lambda cell: max(column(cell, "PIE", "phase_s")), "PIE"),
        "S0-F1-c": per_seed(cells, lambda cell: column(cell, "CoDel", "phase_s", (64,))[0], "CoDel"),
        "S0-F1-e": per_seed(
            cells,
            lambda cell: column(cell, "CoDel", "peak_ms", (64,))[0] / column(cell, "PIE", "peak_ms", (64,))[0],
            "CoDel",
            "PIE",
        ),
    }
    return Measurements(samples, cells, ("aqm", "flows"), RELATIONS)


def _row(
    key: tuple[str, int, int], trace: pl.DataFrame, traces: dict[tuple[str, int, int], pl.DataFrame]
) -> dict[str, Any]:
    aqm, flows, seed = key
    sent = trace.filter(~pl.col("dropped"))
    peak = sent.row(int(sent["sojourn_ms"].arg_max() or 0), named=True)
    calm = sent.filter((pl.col("time_s") > peak["time_s"]) & (pl.col("sojourn_ms") < HIGH_MS))["time_s"]
    return {
        "aqm": aqm,
        "flows": flows,
        "seed": seed,
        "peak_ms": peak["sojourn_ms"],
        "peak_s": peak["time_s"],
        "phase_s": calm[0] - sent["time_s"][0] if len(calm) else float("inf"),
        "later_ms": sent.filter(pl.col("time_s") > SETTLED_S)["sojourn_ms"].quantile(0.99),
        "shared_drops": shared_drops(trace, traces["CoDel", flows, seed]) if aqm == "CoDel-ACT" else None,
    }


def shared_drops(trace: pl.DataFrame, other: pl.DataFrame) -> int:
    """Drops before the first difference of two traces; -1 if the first difference is not a drop of one of them."""
    both = trace.head(min(trace.height, other.height))
    same = (both == other.head(both.height)).select(pl.all_horizontal(pl.all())).to_series()
    first = same.arg_min()
    if first is None or same[first]:
        return int(both["dropped"].sum())
    dropped = both["dropped"][first] or other["dropped"][first]
    return int(both["dropped"][:first].sum()) if dropped else -1


def S0_F1_a(cells: pl.DataFrame) -> bool:
    """Every AQM: one large spike within the first 5 s; 99 % of the packets from 6 s on wait less than half as long."""
    return bool(((cells["peak_s"] < 5) & (cells["later_ms"] < cells["peak_ms"] / 2)).all())


@without_act
def S0_F1_d(cells: pl.DataFrame) -> bool:
    """CoDel: the initial peak and its duration grow with the number of flows."""
    peaks, phases = column(cells, "CoDel", "peak_ms"), column(cells, "CoDel", "phase_s")
    return all(a < b for a, b in pairwise(peaks)) and all(a < b for a, b in pairwise(phases))


def S0_F1_f(cells: pl.DataFrame) -> bool:
    """CoDel-ACT's trace is CoDel's, packet by packet, until a drop that comes after shared ones."""
    return all(drops >= 1 for drops in column(cells, "CoDel-ACT", "shared_drops"))


@without_act
def S0_F1_g(cells: pl.DataFrame) -> bool:
    """PIE: the initial phase changes by less than a factor of two over 1 to 64 flows."""
    phases = column(cells, "PIE", "phase_s")
    return max(phases) < 2 * min(phases)


RELATIONS = relations_by_claim([S0_F1_a, S0_F1_d, S0_F1_f, S0_F1_g])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a panel per load with a curve per AQM, of the first seed."""
    shown = first_runs(result)
    with style():
        figure = new_figure(9.0, 5.6)
        panels = figure.subplots(2, 2, sharex=True, sharey=True)
        for axes, flows in zip(panels.flat, LOADS, strict=True):
            for aqm, curve in zip(AQMS.values(), curves(3), strict=True):
                if (aqm, flows) not in shown:
                    continue
                trace = packets(shown[aqm, flows]).filter(~pl.col("dropped"))
                marks.line(axes, trace["time_s"], trace["sojourn_ms"], aqm, **DENSE, color=curve["color"])
            marks.reference(axes, HIGH_MS, "limit")
            axes.set_title(f"{flows} flow{'s' if flows > 1 else ''}", loc="left", fontweight="bold")
            axes.set_xlim(0, 10)
        panels[0][0].set_ylim(bottom=0)
        for row in panels:
            row[0].set_ylabel("queueing delay [ms]")
        for axes in panels[1]:
            axes.set_xlabel("time [s]   (dotted: end of the initial phase, 32 ms)")
        legend(figure)
        return figure
