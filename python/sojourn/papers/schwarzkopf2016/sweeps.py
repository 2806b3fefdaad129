"""Common analysis of figure 3 and the sweep of time scales: mean delay and utilisation over a parameter, per load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.papers.cells import draw_line
from sojourn.papers.schwarzkopf2016.analysis import AQMS, aqms_of, cells_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

LOADS = (1, 4, 8, 16, 64)


def sweep_cells(result: StudyResult) -> pl.DataFrame:
    """One row per run: `aqm`, swept value `value_ms`, `flows`, `seed`, `mean_ms`, `utilisation`."""
    rows = []
    for row in result.runs.iter_rows(named=True):
        aqm, _, value = row["link.aqm"].split()
        cell: dict[str, Any] = {"aqm": AQMS[aqm], "value_ms": float(value.removesuffix("ms"))}
        cell |= {"flows": row["flows.0.count"], "seed": row["seed"]}
        rows.append(cell | {"mean_ms": row["sojourn_mean_ms"], "utilisation": row["utilisation"]})
    return cells_of(rows)


def series(cells: pl.DataFrame, aqm: str, flows: int, name: str) -> tuple[list[float], list[float]]:
    """Swept values and means of `name` at them."""
    chosen = cells.filter((pl.col("aqm") == aqm) & (pl.col("flows") == flows))
    means = chosen.group_by("value_ms").agg(pl.col(name).mean()).sort("value_ms")
    return means["value_ms"].to_list(), means[name].to_list()


def over_loads(cells: pl.DataFrame, aqm: str, value_ms: float, name: str) -> dict[int, float]:
    """Value by number of flows."""
    chosen = cells.filter((pl.col("aqm") == aqm) & (pl.col("value_ms") == value_ms))
    return dict(chosen.group_by("flows").agg(pl.col(name).mean()).sort("flows").iter_rows())


def draw_sweep(cells: pl.DataFrame, parameters: dict[str, str], *, log: bool) -> Figure:
    """Two rows, delay and utilisation; a column per AQM that was run, titled with its parameter; a line per load."""
    parameters = {aqm: parameters[aqm] for aqm in aqms_of(cells)}
    with style():
        figure = new_figure(10.0, 5.6)
        panels = figure.subplots(2, len(parameters), sharey="row")
        for place, (aqm, parameter) in enumerate(parameters.items()):
            for row, name in enumerate(("mean_ms", "utilisation")):
                _draw_lines(cells, aqm, name, panels[row][place])
                if log:
                    panels[row][place].set_xscale("log", base=2)
                    panels[row][place].xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            panels[0][place].set_title(aqm, loc="left", fontweight="bold")
            panels[1][place].set_xlabel(f"{parameter} [ms]")
        panels[0][0].set_ylabel("mean queueing delay [ms]")
        panels[1][0].set_ylabel("utilisation [%]")
        panels[0][0].set_ylim(bottom=0)
        legend(figure)
        return figure


def _draw_lines(cells: pl.DataFrame, aqm: str, name: str, axes: Axes) -> None:
    scale = 100 if name == "utilisation" else 1
    for flows, curve, marker in zip(LOADS, curves(len(LOADS)), "os^vD", strict=True):
        chosen = cells.filter((pl.col("aqm") == aqm) & (pl.col("flows") == flows))
        label = "1 flow" if flows == 1 else f"{flows} flows"
        draw_line(axes, chosen, "value_ms", name, scale=scale, marker=marker, label=label, **curve)
