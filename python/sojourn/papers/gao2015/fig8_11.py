"""Figures 8 to 11: the utilisation over the round-trip time with 1 and with 8 FTPs, for each rate.

A figure can be read to about a per cent: "decreases" and "increases" allow that much against the trend from one point
to the next, but not from end to end. "Significantly lower" is by more than a tenth; the neighbours of the corner that
the paper names (500 ms, 64 Mbit/s, 1 FTP) count as the corner, from 300 ms and 16 Mbit/s on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.papers.cells import by_seed, draw_line
from sojourn.papers.gao2015 import analysis
from sojourn.papers.gao2015.analysis import (
    CODEL,
    HARD_LIMIT,
    RATES,
    ROUND_TRIPS_MS,
    grid,
    plain_log,
    plural,
    round_trip_ms,
)
from sojourn.papers.gao2015.original import as_original, ftps
from sojourn.papers.judge import Check, Measurements, Verdict, all_checks, relations_by_claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.papers.original import Original
    from sojourn.studies.study import StudyResult

TITLE = "Figures 8 to 11: utilisation over the round-trip time"
STUDY = "fig8_11.toml"

LOADS = (1, 8)
RTTS = tuple(ROUND_TRIPS_MS.values())
CORNER = (64, 500, 1)
READING = 0.01
SIGNIFICANT = 0.1


def measure(result: StudyResult) -> Measurements:
    """Utilisation of every run, and the throughput at the corner that the paper names."""
    return _measured(_cells(result))


def original() -> Original:
    """Utilisation of the authors' runs."""
    return as_original(_measured(ftps(RTTS, LOADS, (CODEL, HARD_LIMIT))))


def _measured(cells: pl.DataFrame) -> Measurements:
    corner = [_corner(one) for one in by_seed(cells)]
    samples = {
        "S1-U-HL": [hard_limit for _, hard_limit in corner],
        "S1-U-ratio": [1 - hard_limit / codel for codel, hard_limit in corner],
    }
    return Measurements(samples, cells, ("scheme", "rate", "rtt_ms", "flows"), RELATIONS)


def _cells(result: StudyResult) -> pl.DataFrame:
    return analysis.cells_of(result, lambda run: {"rtt_ms": round_trip_ms(run["link.delay"])})


def _corner(cells: pl.DataFrame) -> tuple[float, float]:
    """Throughput of CoDel and of Hard Limit CoDel in Mbit/s."""
    codel, hard_limit = _of(cells, CODEL), _of(cells, HARD_LIMIT)
    return CORNER[0] * codel[CORNER], CORNER[0] * hard_limit[CORNER]


def _of(cells: pl.DataFrame, scheme: str) -> dict[tuple[Any, ...], float]:
    """Utilisation by rate, round-trip time and load."""
    return grid(cells.filter(pl.col("scheme") == scheme), "utilisation", "rate", "rtt_ms", "flows")


@all_checks
def S1_F8_11_a(cells: pl.DataFrame) -> Iterator[Check]:
    """The utilisation falls with the round-trip time and grows with the number of flows, under both schemes."""
    for scheme in (CODEL, HARD_LIMIT):
        use = _of(cells, scheme)
        for rate, load in product(RATES, LOADS):
            yield from _falls(f"{scheme}, {rate} Mbit/s, {plural(load, 'FTP')}", [use[rate, r, load] for r in RTTS])
        for rate in RATES:
            few, many = ([use[rate, rtt, load] for rtt in RTTS] for load in LOADS)
            yield from _grows(f"{scheme}, {rate} Mbit/s", few, many)


def _falls(where: str, line: list[float]) -> Iterator[Check]:
    """Checks from one round-trip time to the next, within reading precision, and from end to end."""
    yield Check(line[0] > line[-1], f"{where}: {line[0]:.3f} at {RTTS[0]} ms, {line[-1]:.3f} at {RTTS[-1]}")
    for (rtt, before), (next_rtt, after) in pairwise(zip(RTTS, line, strict=True)):
        yield Check(after <= before + READING, f"{where}: {before:.3f} at {rtt} ms, {after:.3f} at {next_rtt}")


def _grows(where: str, few: list[float], many: list[float]) -> Iterator[Check]:
    """Checks of growth with the number of flows: at every round-trip time, within reading precision, and overall."""
    mean_few, mean_many = (sum(line) / len(line) for line in (few, many))
    yield Check(mean_many > mean_few, f"{where}: {mean_few:.3f} with {LOADS[0]}, {mean_many:.3f} with {LOADS[1]}")
    for rtt, less, more in zip(RTTS, few, many, strict=True):
        told_at = f"{where}, {rtt} ms: {less:.3f} with {LOADS[0]}, {more:.3f} with {LOADS[1]}"
        yield Check(more >= less - READING, told_at)


@all_checks
def S1_F8_11_b(cells: pl.DataFrame) -> Iterator[Check]:
    """Hard Limit CoDel is significantly lower at and near the corner only."""
    codel, hard_limit = _of(cells, CODEL), _of(cells, HARD_LIMIT)
    for point, use in codel.items():
        rate, rtt, load = point
        lower = hard_limit[point] < (1 - SIGNIFICANT) * use
        near = rate >= 16 and rtt >= 300 and load == 1
        where = f"{rate} Mbit/s, {rtt} ms, {plural(load, 'FTP')}"
        numbers = f"{hard_limit[point]:.3f}, CoDel {use:.3f}"
        yield Check(lower if point == CORNER else near or not lower, f"{where}: {numbers}")


RELATIONS = relations_by_claim([S1_F8_11_a, S1_F8_11_b])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a panel per scheme and load with a curve per rate, as in the paper's four figures."""
    cells = _cells(result)
    with style():
        figure = new_figure(9.0, 6.0)
        panels = figure.subplots(2, 2, sharex=True, sharey=True)
        for axes, (load, scheme) in zip(panels.flat, product(LOADS, (CODEL, HARD_LIMIT)), strict=True):
            for rate, curve, marker in zip(RATES, curves(len(RATES)), "os^v", strict=True):
                chosen = (pl.col("scheme") == scheme) & (pl.col("rate") == rate) & (pl.col("flows") == load)
                own = cells.filter(chosen)
                draw_line(axes, own, "rtt_ms", "utilisation", scale=100, label=f"{rate} Mbit/s", marker=marker, **curve)
            axes.set_title(f"{scheme}, {plural(load, 'FTP')}", loc="left", fontweight="bold")
        plain_log(panels[0][0], "x", (10, 20, 40, 100, 200, 500))
        panels[0][0].set_ylim(0, 103)
        for row in panels:
            row[0].set_ylabel("utilisation [%]")
        for axes in panels[1]:
            axes.set_xlabel("round-trip time [ms]")
        legend(figure)
        return figure
