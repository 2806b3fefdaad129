"""Table I: mean and 99 % quantile of the queueing delay, 3 AQMs x 4 loads x 2 RTTs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING

import polars as pl

from sojourn.figures import marks
from sojourn.figures.canvas import new_figure, style
from sojourn.figures.channels import curves, faint, muted
from sojourn.model.analysis.stats import merge_histograms, quantile
from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.schwarzkopf2016.analysis import AQMS, without_act

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

TITLE = "Table I: mean and 99 % quantile of the queueing delay"
STUDY = "table1.toml"

RTTS_MS = {"5 ms": 10, "49.9 ms": 100}
FLOWS = (1, 4, 16, 64)
STATISTICS = {"mean": "mean_ms", "q99": "q99_ms"}
KEYS = ("aqm", "rtt_ms", "flows")


def measure(result: StudyResult) -> Measurements:
    """Samples of every cell; a 99 % quantile is judged by its mean over the runs; the pooled one is reported too."""
    cells = result.runs.select(
        pl.col("link.aqm").replace_strict(AQMS).alias("aqm"),
        pl.col("link.delay").replace_strict(RTTS_MS).alias("rtt_ms"),
        pl.col("flows.0.count").alias("flows"),
        "seed",
        pl.col("sojourn_mean_ms").alias("mean_ms"),
        pl.col("sojourn_p99_ms").alias("q99_ms"),
    )
    samples, pooled = {}, {}
    for (aqm, rtt_ms, flows), cell in cells.with_row_index().group_by(KEYS, maintain_order=True):
        for statistic, column in STATISTICS.items():
            samples[claim_id(str(aqm), rtt_ms, flows, statistic)] = cell[column].to_list()
        histograms = [result.results[index].histogram for index in cell["index"]]
        if (together := quantile(merge_histograms(histograms), 0.99)) is not None:
            pooled[claim_id(str(aqm), rtt_ms, flows, "q99")] = together
    return Measurements(samples, cells, KEYS, RELATIONS, pooled)


def claim_id(aqm: str, rtt_ms: object, flows: object, statistic: str) -> str:
    """Id of the claim about a cell."""
    variant = "R100-" if rtt_ms == 100 else ""
    return f"S0-T1-{variant}{aqm}-{flows}-{statistic}"


def S0_T1_rel1(cells: pl.DataFrame) -> bool:
    """CoDel and CoDel-ACT: the mean delay strictly increases over 1, 4, 16, 64 flows at both RTTs."""
    rows = [_over_flows(cells, aqm, rtt_ms) for aqm in ("CoDel", "CoDel-ACT") for rtt_ms in RTTS_MS.values()]
    return all(less < more for row in rows for less, more in pairwise(row))


@without_act
def S0_T1_rel2(cells: pl.DataFrame) -> bool:
    """PIE: the mean delay is within 15.0 to 17.3 ms in every cell except (1 flow, RTT 100 ms)."""
    others = (pl.col("aqm") == "PIE") & ~((pl.col("flows") == 1) & (pl.col("rtt_ms") == 100))
    return bool(cells.filter(others)["mean_ms"].is_between(15.0, 17.3).all())


def S0_T1_rel3(cells: pl.DataFrame) -> bool:
    """Every 99 % quantile is more than 1.5 times its mean."""
    return bool((cells["q99_ms"] > 1.5 * cells["mean_ms"]).all())


@without_act
def S0_T1_rel4(cells: pl.DataFrame) -> bool:
    """CoDel's mean is below PIE's at 1, 4, 16 flows and above at 64 (RTT 10 ms), never above by 1 % at 100 ms."""
    codel, pie = _over_flows(cells, "CoDel", 10), _over_flows(cells, "PIE", 10)
    at_10_ms = all(c < p for c, p in zip(codel[:3], pie[:3], strict=True)) and codel[3] > pie[3]
    long = zip(_over_flows(cells, "CoDel", 100), _over_flows(cells, "PIE", 100), strict=True)
    return at_10_ms and all(c <= 1.01 * p for c, p in long)


def S0_T1_rel5(cells: pl.DataFrame) -> bool:
    """CoDel-ACT's mean is at most 1 % above the smaller of CoDel's and PIE's in all cells."""
    for rtt_ms in RTTS_MS.values():
        act, codel, pie = (_over_flows(cells, aqm, rtt_ms) for aqm in ("CoDel-ACT", "CoDel", "PIE"))
        if not all(a <= 1.01 * min(c, p) for a, c, p in zip(act, codel, pie, strict=True)):
            return False
    return True


def S0_T1_rel6(cells: pl.DataFrame) -> bool:
    """With one flow CoDel and CoDel-ACT are equal to 1 %: the count stays so low that neither modification acts."""
    one = cells.filter(pl.col("flows") == 1)
    codel, act = (one.filter(pl.col("aqm") == aqm).sort("rtt_ms") for aqm in ("CoDel", "CoDel-ACT"))
    columns = STATISTICS.values()
    return all(bool(((codel[column] - act[column]).abs() <= 0.01 * codel[column]).all()) for column in columns)


def _over_flows(cells: pl.DataFrame, aqm: str, rtt_ms: int) -> list[float]:
    chosen = cells.filter((pl.col("aqm") == aqm) & (pl.col("rtt_ms") == rtt_ms))
    return chosen.sort("flows")["mean_ms"].to_list()


RELATIONS = relations_by_claim([S0_T1_rel1, S0_T1_rel2, S0_T1_rel3, S0_T1_rel4, S0_T1_rel5, S0_T1_rel6])


def draw(_: StudyResult, verdicts: Sequence[Verdict]) -> Figure:
    """Draw a panel per statistic and RTT: published value with its tight band, and the measured one, per load."""
    by_id = {verdict["id"]: verdict for verdict in verdicts}
    with style():
        figure = new_figure(9.0, 6.2)
        panels = figure.subplots(2, 2, sharex=True, sharey="row")
        for row, statistic in enumerate(STATISTICS):
            for column, rtt_ms in enumerate(RTTS_MS.values()):
                axes = panels[row][column]
                _draw_panel(by_id, statistic, rtt_ms, axes)
                axes.set_title(f"{_NAMES[statistic]}, RTT {rtt_ms} ms", loc="left", fontweight="bold")
            panels[row][0].set_ylim(bottom=0)  # shared; set when both panels have their data
            panels[row][0].set_ylabel("queueing delay [ms]")
        for axes in panels[1]:
            axes.set_xlabel("TCP flows")
        legend = {name: handle for handle, name in zip(*panels[0][0].get_legend_handles_labels(), strict=True)}
        order = [*(f"{aqm}, measured" for aqm in AQMS.values()), "published", "tight band"]
        order = [name for name in order if name in legend]
        figure.legend([legend[name] for name in order], order, loc="outside upper center", ncols=len(order))
        return figure


def _draw_panel(by_id: dict[str, Verdict], statistic: str, rtt_ms: int, axes: Axes) -> None:
    """Published values are open diamonds on a grey bar (the tight band), measured ones are filled with their CI."""
    for place, (aqm, curve, marker) in enumerate(zip(AQMS.values(), curves(3), "os^", strict=True)):
        at = [index + (place - 1) * 0.24 for index in range(len(FLOWS))]
        cells = [by_id[claim_id(aqm, rtt_ms, flows, statistic)] for flows in FLOWS]
        low, high = ([cell["tight"][end] for cell in cells] for end in (0, 1))
        heights = [top - bottom for bottom, top in zip(low, high, strict=True)]
        last = place == len(AQMS) - 1
        names = ("tight band", "published") if last else ("", "")
        marks.columns(axes, at, heights, names[0], base=low, width=0.16, color=faint())
        expected = [cell["expected"] for cell in cells]
        marks.line(axes, at, expected, names[1], marker="D", linestyle="none", mfc="none", mec=muted(), ms=6)
        measured = [cell["measured"] for cell in cells]
        if None in measured:  # left out
            continue
        half = [nan if cell["ci95"] is None else cell["ci95"] for cell in cells]
        look = {"marker": marker, "linestyle": "none", "color": curve["color"], "ms": 4, "capsize": 2}
        marks.line(axes, at, measured, f"{aqm}, measured", half=half, **look)
    axes.set_xticks(range(len(FLOWS)), [str(flows) for flows in FLOWS])
    axes.grid(visible=False, axis="x")
    for border in range(1, len(FLOWS)):
        axes.axvline(border - 0.5, color="0.9", linewidth=0.8)


_NAMES = {"mean": "mean", "q99": "99 % quantile"}
