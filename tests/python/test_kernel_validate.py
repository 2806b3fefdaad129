"""The page of the simulator beside the kernel: its grid, its bands, its text. No kernel needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from types import SimpleNamespace
from typing import Any, ClassVar

import polars as pl

from sojourn.engines.kernel import control_grid, engine, offload_grid
from sojourn.engines.kernel.grid import (
    AQMS,
    CONTROLS,
    DURATION_S,
    FLOWS,
    MARKING,
    RATES,
    RTTS_MS,
    Cell,
    Grid,
    Point,
    Repeated,
    grid,
    merged,
)
from sojourn.engines.kernel.validation_page import Cause, page, table
from sojourn.studies.runs.runner import Run

POINT = Point("codel", "reno", 10, 50, 8)
THERE = {"delivered": 9.0, "delay": 10.0, "tail": 30.0, "mean": 9.0, "drops": 2.0, "marks": 0.0, "jain": 1.0}


def cell(point: Point = POINT, **here: float) -> Cell:
    return Cell(point, THERE, {**THERE, **here})


def again(one: Cell, *runs: dict[str, float]) -> Repeated:
    return merged(one.point, [one.there], [{**THERE, **run} for run in runs])


def test_the_grid_is_every_combination_and_can_run() -> None:
    points = grid()
    with_ecn = len(AQMS) + len(MARKING)
    assert len(points) == len(set(points)) == len(RATES) * len(RTTS_MS) * len(FLOWS) * len(CONTROLS) * with_ecn == 486
    assert not any(point.ecn for point in points if point.aqm == "droptail")
    for point in points:
        engine.check(point.scenario())
        assert point.scenario().document["duration"] == f"{DURATION_S[point.rate]} s"


def test_the_grid_of_super_packets_is_every_combination_and_can_run() -> None:
    points = offload_grid.grid()
    axes = (offload_grid.AQMS, offload_grid.RATES, offload_grid.RTTS_MS, offload_grid.FLOWS)
    assert len(points) == len(set(points)) == prod(len(axis) for axis in axes) == 90
    for point in points:
        document = point.scenario().document
        engine.check(point.scenario())
        assert document["flows"][0]["gso"] and document["flows"][0]["gro"] == offload_grid.POLL
        assert document["link"]["aqm"].get("split_gso") == {"cake": True, "cake no-split-gso": False}.get(point.aqm)


def test_the_page_of_super_packets_has_its_own_words_and_causes() -> None:
    slow, fast = offload_grid.Point("cake", 10, 20, 4), offload_grid.Point("pie", 1000, 100, 1)
    apart = cell(slow, delay=20.0)
    words = replace(offload_grid.WORDS, apart=[Cause(lambda one: one.point.aqm == "cake", "a reason")])
    text = page([slow, fast], [apart], "Linux x", {slow: again(apart, {"delay": 20.0})}, None, words)
    assert text.startswith("# Super-packets: the simulator beside the real kernel\n")
    assert "60 s at 10 Mbit/s, 15 s at 1000 Mbit/s" in text and "1 at 1000 Mbit/s" in text
    assert "| cake |  | 10 | 1 | 1 | 0 | 1 | 6.7 | cubic, 20 ms, 4 |" in text
    assert text.count("**apart**: a reason.") == 1


def test_the_bands() -> None:
    assert cell(delivered=9.26).agrees and not cell(delivered=9.3).agrees
    assert cell(delay=11.5).agrees and not cell(delay=11.6).agrees
    quick = replace(cell(delay=2.9), there={**THERE, "delay": 2.0})
    assert quick.agrees, "a millisecond is allowed in any case"


def test_seeds_are_merged_into_means_and_a_spread() -> None:
    runs = [{**THERE, "delivered": delivered, "delay": delay} for delivered, delay in ((8.0, 9.0), (9.0, 12.0))]
    found = merged(POINT, [THERE, {**THERE, "delivered": 9.4}], runs)
    assert (found.seeds_there, found.seeds_here) == (2, 2)
    assert found.mean.there["delivered"] == 9.2 and found.mean.here["delivered"] == 8.5
    assert found.spread == {"delivered": (8.0, 9.0), "delay": (9.0, 12.0)}
    assert not found.is_chance and found.is_told_apart
    assert not merged(POINT, [THERE], runs).is_told_apart


class Runs:
    """Stands for the runner: the kernel has run some points with some seeds, and everything gives the same numbers."""

    totals: ClassVar[dict[str, Any]] = {
        "delivered_bps": 9e6,
        "flows": [{"direction": "forward", "delivered_bps": rate} for rate in (4.5e6, 4.5e6)],
        "links": {
            "forward": {"sojourn_ms": {"p50": 10.0, "p95": 30.0, "mean": 9.0}, "drop_rate": 0.02, "mark_rate": 0.0}
        },
    }

    def __init__(self, finished: set[tuple[str, int]]) -> None:
        self.finished = finished
        self.asked: list[tuple[str, int, str]] = []

    def find(self, run: Run) -> bool | None:
        return (run.scenario.canonical, run.seed) in self.finished or None

    def __call__(self, runs: Sequence[Run]) -> list[Any]:
        self.asked += [(run.scenario.canonical, run.seed, run.engine) for run in runs]
        return [SimpleNamespace(totals=self.totals) for _ in runs]


def test_only_what_is_finished_is_compared_if_asked_for() -> None:
    points = [POINT, replace(POINT, flows=1)]
    names = [point.scenario().canonical for point in points]
    runs = Runs({(names[0], 1), (names[0], 3)})
    cells = Grid(None, only_finished=True, runner=runs).cells(points)
    assert [one.point for one in cells] == [POINT] and cells[0].there == THERE
    assert runs.asked == [(names[0], 1, "kernel"), (names[0], 1, "simulate")]
    outside = cell(delivered=4.5)
    again = Grid(None, only_finished=True, runner=runs).repeated([*cells, outside])
    assert list(again) == [POINT] and (again[POINT].seeds_there, again[POINT].seeds_here) == (2, 10)
    assert [one.point for one in Grid(None, runner=runs).cells(points)] == points


def test_the_page_says_what_was_chance_what_was_not_and_what_is_missing() -> None:
    chance, spread = replace(POINT, flows=1), replace(POINT, control="cubic")
    marked = Point("ared", "reno", 10, 50, 8, ecn=True)
    cells = [cell(), cell(chance, delay=20.0), cell(spread, delivered=8.0), cell(marked, delivered=4.5)]
    repeated = {
        chance: again(cells[1], {"delay": 20.0}, {"delay": 0.0}),
        spread: again(cells[2], {"delivered": 8.0}, {"delivered": 9.1}),
        marked: again(cells[3], {"delivered": 4.5}, {"delivered": 4.7}),
    }
    slow = replace(POINT, rate=100)
    text = page([*(one.point for one in cells), slow], cells, "Linux 6.1.192, build x", repeated, "all.csv")
    assert "**1 of 4 cells agree (25 %).** 1 cells of the grid have not been run: 1 at 100 Mbit/s" in text
    assert "[all.csv](all.csv)" in text
    assert (
        "Of 3 cells 1 agree in the mean; of the others 1 lie within the spread of the simulator's seeds, and 1 do"
        in text
    )
    assert "| codel |  | 10 | 3 | 3 | 1 | 0 | 6.7 | reno, 50 ms, 1 |" in text
    assert "| codel |  | 100 | 1 | 0 | 0 | 0 | | |" in text
    assert "| ared | yes | 10 | 1 | 1 | 0 | 1 | 16.7 | reno, 50 ms, 8 |" in text
    listed = [line for line in text.splitlines() if line.startswith("- ")]
    assert listed[0].startswith(
        "- ared with ECN, reno, 10 Mbit/s, 50 ms, 8 flows: 9.00 and 4.60 Mbit/s, 10.00 and 10.00"
    )
    assert listed[0].endswith("over 1 and 2 seeds; **apart**, which is not explained.")
    assert [line.split("; ")[1] for line in listed[1:]] == [
        "the means agree.",
        "within the spread of the simulator's seeds.",
    ]
    close = again(cells[3], {"delivered": 8.9}, {"delivered": 9.0})
    assert "the means agree: a flow whose SYN is dropped" in page([], cells, "", {**repeated, marked: close}, None)


def test_the_table_has_every_cell_with_both_sides() -> None:
    frame = table([cell(), cell(delivered=4.5)])
    assert frame["agrees"].to_list() == [True, False]
    assert frame.select("delivered_mbps_there", "delivered_mbps_here").row(1) == (9.0, 4.5)
    assert frame.schema["rate_mbps"] == pl.Int64 and frame["duration_s"].to_list() == [60, 60]


def test_a_grid_of_controls_counts_them_one_by_one() -> None:
    points = control_grid.grid()
    assert len(points) == len(set(points)) == 10 * 2 * 2 * 3 * 3
    marked = [point for point in points if point.ecn]
    assert {point.control for point in marked} == {"dctcp"}
    limits = {(p.rate, p.rtt): p.scenario().document["link"]["limit"] for p in points if p.aqm == "droptail"}
    # One bandwidth-delay product of packets of 1500 bytes.
    assert limits == {(10, 20): "17 packets", (10, 100): "83 packets", (50, 20): "83 packets", (50, 100): "417 packets"}
    near, far = (Cell(points[0], THERE, {**THERE, "delay": delay}) for delay in (10.5, 40.0))
    text = page(points, [near, far], "Linux", {points[0]: again(far, THERE)}, None, control_grid.WORDS)
    assert "| bbr | 36 | 2 | 1 | 20.0 |" in text
    assert "| dctcp | 36 | 0 | 0 |  |" in text


def test_the_grid_of_other_rates_shares_no_cell_with_the_first() -> None:
    points = control_grid.other_grid()
    assert len(points) == len(set(points)) == 12 * 2 * 3 * 3
    assert not {(p.rate, p.rtt) for p in points} & {(p.rate, p.rtt) for p in control_grid.grid()}
    assert {(p.rate, p.duration_s) for p in points} == {(25, 20), (200, 15)}
    limits = {p.rate: p.scenario().document["link"]["limit"] for p in points if p.aqm == "droptail"}
    assert limits == {25: "125 packets", 200: "1000 packets"}
    text = page(points, [], "Linux", {}, None, control_grid.OTHER_WORDS)
    assert "--grid controls-elsewhere" in text and "216 cells of the grid have not been run" in text
