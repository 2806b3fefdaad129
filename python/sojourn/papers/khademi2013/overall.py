"""Section 8: ARED does worse than CoDel or PIE only with very few flows, over a WLAN both ways, and with ECN.

It is judged over the situations of the other figures: every target and every base RTT under each load, ECN, downloads
over the WLAN, and uploads beside them. ARED is worse than another AQM if its median goodput is more than 5 % lower, or
if its median delay is more than a tenth higher and its goodput no more than 1 % higher. "Very few" are 4 flows. In each
of the three kinds of situations ARED must be worse than one of the others somewhere, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from sojourn.figures import marks
from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.papers.judge import Check, Measurements, Verdict, all_checks, relations_by_claim
from sojourn.papers.khademi2013 import wlan
from sojourn.papers.khademi2013.analysis import EQUAL, LIGHT, cells_of
from sojourn.papers.khademi2013.fig13 import ecn_cells
from sojourn.studies.study import StudyResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import Study

TITLE = "Section 8: where ARED does worse than CoDel or PIE"
STUDY = "targets.toml"

OTHERS = ("CoDel", "PIE")
KEYS = ("aqm", "situation", "flows")
ECN, DOWN, BOTH_WAYS = "ECN", "WLAN, down", "WLAN, up and down"
STUDIES = (STUDY, "rtts.toml", "ecn.toml", "fig9.toml", "fig10.toml")
RTT_MS = 100
"""RTT of the runs that vary the target."""
LOSS = 0.05
MORE_DELAY = 0.1


def points(study: Study, load: Callable[[str], Study]) -> Study:
    """The runs of the other figures, which are reused if they were made; the value `study` names a point's study."""
    studies = [study, *(load(name) for name in STUDIES[1:])]
    renamed = [
        replace(point, values=point.values | {"study": name})
        for name, one in zip(STUDIES, studies, strict=True)
        for point in one.points
    ]
    return replace(study, points=renamed, axes=())


def measure(result: StudyResult) -> Measurements:
    """Median delay and goodput of every run, by situation."""
    return Measurements({}, _cells(result), KEYS, RELATIONS)


def _cells(result: StudyResult) -> pl.DataFrame:
    of_target, of_rtt, of_ecn, down, both = (_part(result, name) for name in STUDIES)
    target, rtt = (pl.col(name).cast(pl.Int64) for name in ("target_ms", "rtt_ms"))
    others = cells_of(of_rtt, ("aqm", "rtt_ms", "flows")).filter(rtt != RTT_MS)
    ecn = ecn_cells(of_ecn).filter(pl.col("ecn"))
    cells = [
        _named(cells_of(of_target, ("aqm", "target_ms", "flows")), pl.format("target {} ms", target), "p50"),
        _named(others, pl.format("RTT {} ms", rtt), "p50"),
        _named(ecn, pl.lit(ECN), "p50"),
        _named(wlan.cells_of(down), pl.lit(DOWN), "r50"),
        _named(wlan.cells_of(both), pl.lit(BOTH_WAYS), "t50"),
    ]
    return pl.concat(cells)


def _part(result: StudyResult, name: str) -> StudyResult:
    """The results of one study."""
    seeds, study = len(result.study.seeds), result.study
    places = [place for place, point in enumerate(study.points) if point.values["study"] == name]
    results = [one for place in places for one in result.results[place * seeds : (place + 1) * seeds]]
    return StudyResult(replace(study, points=[study.points[place] for place in places]), results)


def _named(cells: pl.DataFrame, situation: pl.Expr, delay: str) -> pl.DataFrame:
    chosen = ("aqm", situation.alias("situation"), "flows", "seed", pl.col(delay).alias("delay_ms"))
    return cells.select(*chosen, pl.col("g50").alias("goodput"))


@all_checks
def S3_OVERALL(cells: pl.DataFrame) -> Iterator[Check]:
    """Worse with few flows, over the WLAN both ways and with ECN, and nowhere else."""
    found = {row[:3]: row[3:] for row in cells.select(*KEYS, "delay_ms", "goodput").sort(KEYS).iter_rows()}
    situations = sorted({(situation, flows) for _, situation, flows in found}, key=_order)
    worse: dict[str, bool] = {}
    for situation, flows in situations:
        own, others = found["ARED", situation, flows], {name: found[name, situation, flows] for name in OTHERS}
        beaten = [name for name in OTHERS if _worse(own, others[name])]
        kind = situation if situation in (ECN, BOTH_WAYS) else f"{LIGHT} flows" if flows == LIGHT else ""
        if kind:
            worse[kind] = worse.get(kind, False) or bool(beaten)
            continue
        numbers = "; ".join(f"{name} {ms:.4g} ms, {rate:.4g} Mb/s" for name, (ms, rate) in others.items())
        yield Check(not beaten, f"{situation}, {flows} flows: ARED {own[0]:.4g} ms, {own[1]:.4g} Mb/s; {numbers}")
    for kind, somewhere in worse.items():
        yield Check(somewhere, f"{kind}: worse nowhere")


def _order(situation: tuple[str, int]) -> tuple[str, int, int]:
    """Sort key: kind, the number in its name, load."""
    name, flows = situation
    kind, *number = name.split()
    return kind, int(number[0]) if number and number[0].isdigit() else 0, flows


def _worse(own: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether one pair of delay and goodput is worse than another."""
    slower = own[1] < (1 - LOSS) * other[1]
    longer = own[0] > (1 + MORE_DELAY) * other[0] and own[1] <= (1 + EQUAL) * other[1]
    return slower or longer


RELATIONS = relations_by_claim([S3_OVERALL])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw ARED's delay and goodput relative to CoDel's and PIE's, a row per situation and load."""
    means = {row[:3]: row[3:] for row in _cells(result).group_by(KEYS).mean().drop("seed").iter_rows()}
    situations = sorted({(situation, flows) for _, situation, flows in means}, key=_order)
    names = [f"{situation}, {flows} flows" for situation, flows in situations]
    places = list(range(len(names)))
    with style():
        figure = new_figure(9.0, 7.5)
        panels = figure.subplots(1, 2, sharey=True)
        own, *others = ([means[aqm, name, flows] for name, flows in situations] for aqm in ("ARED", *OTHERS))
        for axes, column, label in zip(panels, (0, 1), ("median delay", "median goodput"), strict=True):
            for other, values, curve, marker in zip(OTHERS, others, curves(len(OTHERS)), "os", strict=True):
                shares = [one[column] / another[column] for one, another in zip(own, values, strict=True)]
                look = {"label": f"{other}'s", "color": curve["color"], "marker": marker, "s": 18}
                marks.points(axes, shares, places, other, **look)
            axes.axvline(1.0, color="0.6", linewidth=0.8, zorder=0)
            axes.set_xlabel(f"ARED's {label} as a share of another's")
        panels[0].set_xscale("log")
        panels[0].set_xticks(ticks := (0.1, 0.2, 0.5, 1, 2), [f"{tick:g}" for tick in ticks])
        panels[0].set_xticks([], minor=True)
        panels[0].set_yticks(places, names)
        panels[0].set_ylim(len(names) - 0.4, -0.6)
        legend(figure)
        return figure
