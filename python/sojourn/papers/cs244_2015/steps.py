"""The rate in steps: delay, bytes delivered, ingress and egress, second by second.

Definitions that the text lacks: a delay "of seconds" is at least 0.9 s (830 packets take 1.0 s at 10 Mbit/s), "far
smaller" is below a third, a spike is the maximum in the ten seconds after a step, "rarely" is at most one second in
ten, and a sawtooth "above and below" has at least a quarter of its seconds on each side of the capacity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sojourn.base.units import rates, seconds
from sojourn.figures import marks
from sojourn.figures.canvas import new_figure, style
from sojourn.figures.channels import curves, faint, muted
from sojourn.papers.cells import by_seed
from sojourn.papers.cs244_2015.analysis import (
    NAMES,
    SECONDS,
    Seconds,
    both_queues,
    per_second,
    second_cells,
    step_of,
    thin,
)
from sojourn.papers.judge import Measurements, Verdict, relations_by_claim

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from sojourn.studies.study import StudyResult

TITLE = "Rate in steps: delay, bytes, ingress and egress"
STUDY = "steps.toml"
SHORT = "steps-10s.toml"

RATES_MBIT = (100, 10, 1, 50, 1, 100)
SEGMENT_S = 50
SETTLING_S = 10
STEPS_DOWN = [n * SEGMENT_S for n in (1, 2, 4)]


def measure(result: StudyResult) -> Measurements:
    """Every second of every run: mean delay of the sent packets, megabits in and out."""
    cells, count = second_cells(result), len(result.study.seeds)
    capacity = [one.links["bytes"][0] / one.links["utilisation"][0] for one in result.results[:count]]
    queues = [both_queues(cell) for cell in by_seed(cells)]
    delivered = [tuple(queue["out_mbit"].sum() / sum(_capacity()) for queue in both) for both in queues]
    samples = {
        "S4-BDP": [_bandwidth_delay_packets(result.study.points[0].scenario.document)],
        "S4-MAX": [most / 1e9 for most in capacity],
        "S4-TD": [tail for tail, _ in delivered],
        "S4-CODEL": [codel for _, codel in delivered],
        "S4-DIFF": [1 - codel / tail for tail, codel in delivered],
        "S4-DELAY-2": [_largest_ratio(*both) for both in queues],
    }
    return Measurements(samples, cells, ("aqm", "second"), RELATIONS)


def _capacity() -> NDArray[np.float64]:
    """Rate in Mbit/s of every second."""
    return np.repeat(np.array(RATES_MBIT, dtype=float), SEGMENT_S)


def _bandwidth_delay_packets(scenario: dict[str, Any]) -> float:
    """Bandwidth-delay product in full-sized packets at the highest rate of the study file."""
    link = scenario["link"]
    rtt_s = seconds(link["delay"]) + seconds(scenario["reverse"]["delay"])
    return max(rates(link["rate"])) * rtt_s / 8 / float(link["mtu"].removesuffix(" B"))


def _largest_ratio(tail: Seconds, codel: Seconds) -> float:
    slow = _capacity() == 1
    return float(np.nanmax(tail["delay_ms"][slow] / codel["delay_ms"][slow]))


def S4_DELAY_1(cells: pl.DataFrame) -> bool:
    """After each step down tail drop's spike is of seconds; CoDel's is far smaller, and over within ten seconds."""
    tail, codel = (queue["delay_ms"] for queue in both_queues(cells))
    for step in STEPS_DOWN:
        spike, low_spike = (np.nanmax(delays[step : step + SETTLING_S]) for delays in (tail, codel))
        later = np.nanmax(codel[step + SETTLING_S : step + SEGMENT_S])
        if not (spike >= 900 and low_spike < spike / 3 and later < low_spike / 3):
            return False
    return True


def S4_ING(cells: pl.DataFrame) -> bool:
    """CoDel's ingress is above the capacity in at most a tenth of the seconds; tail drop's often above, often below."""
    tail, codel = (queue["in_mbit"] > _capacity() for queue in both_queues(cells))
    return bool(codel.mean() <= 0.1 and 0.25 <= tail.mean() <= 0.75)


def S4_PARALLEL(cells: pl.DataFrame) -> bool:
    """CoDel delivers less, and its deficit grows faster in the ten seconds after a step than later at 100 Mbit/s."""
    tail, codel = (queue["out_mbit"] for queue in both_queues(cells))
    behind = tail - codel
    second = np.arange(SECONDS)
    jump = (second >= SEGMENT_S) & (second % SEGMENT_S < SETTLING_S)
    settled = (second % SEGMENT_S >= SETTLING_S) & (_capacity() == 100)
    return bool(behind.sum() > 0 and behind[jump].mean() > behind[settled].mean() >= 0)


RELATIONS = relations_by_claim([S4_DELAY_1, S4_ING, S4_PARALLEL])


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw delay and bytes over time, and ingress and egress of both queues, of the first seed."""
    count, step_s = len(result.study.seeds), step_of(result.results[0])
    shown = {name: per_second(result.results[n * count]) for n, name in enumerate(NAMES.values())}
    shown = {name: table.with_columns(time_s=step_s * pl.col("second")) for name, table in shown.items()}
    with style():
        figure = new_figure(10.0, 6.0)
        (delay, total), (left, right) = figure.subplots(2, 2, sharex=True)
        for (name, table), curve in zip(shown.items(), curves(2), strict=True):
            marks.line(delay, table["time_s"] + step_s / 2, table["delay_ms"], name, **thin(curve))
            marks.line(total, table["time_s"] + step_s, step_s * table["out_mbit"].cum_sum() / 8, name, **curve)
        ends = step_s * (np.arange(SECONDS) + 1)
        marks.line(total, ends, step_s * _capacity().cumsum() / 8, "capacity", linestyle=":", color=muted())
        delay.set_yscale("log")
        delay.set_ylabel("mean queueing delay [ms]")
        total.set_ylabel("delivered [MB]")
        for axes, name in ((left, "CoDel"), (right, "tail drop")):
            _draw_rates(axes, shown[name], name)
        left.sharey(right)
        left.set_ylabel("rate [Mbit/s]")
        for axes in (delay, total, right):
            axes.legend(loc="best")
        for axes in (left, right):
            axes.set_xlabel("time [s]")
            axes.set_xlim(0, step_s * SECONDS)
        return figure


def _draw_rates(axes: Axes, table: pl.DataFrame, name: str) -> None:
    into, out = curves(2)
    middle = table["time_s"] + table["time_s"][1] / 2
    edges = np.append(table["time_s"], table["time_s"][-1] + table["time_s"][1])
    marks.steps(axes, edges, _capacity(), "capacity", fill=True, color=faint(), linewidth=0)
    marks.line(axes, middle, table["in_mbit"], "ingress", **thin(into))
    marks.line(axes, middle, table["out_mbit"], "egress", **thin(out))
    axes.set_title(name, loc="left", fontweight="bold")
