"""The comparison of simulator and kernel: grid, bands, verdicts. No kernel needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from types import SimpleNamespace
from typing import Any, ClassVar

import polars as pl

from sojourn.engines.kernel import control_grid, engine, judge_own, offload_grid
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
    RepeatedCell,
    grid,
    merge,
)
from sojourn.engines.kernel.validation_table import AGREES, APART, MEANS_AGREE, VERDICTS, WITHIN_SEEDS, Cause, table
from sojourn.model.aqms.registry import registry
from sojourn.studies.runs.runner import Run

POINT = Point("codel", "reno", 10, 50, 8)
THERE = {"delivered": 9.0, "delay": 10.0, "tail": 30.0, "mean": 9.0, "drops": 2.0, "marks": 0.0, "jain": 1.0}


def cell(point: Point = POINT, **here: float) -> Cell:
    return Cell(point, THERE, {**THERE, **here})


def again(one: Cell, *runs: dict[str, float]) -> RepeatedCell:
    return merge(one.point, [one.there], [{**THERE, **run} for run in runs])


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


def test_the_table_of_super_packets_has_its_own_causes() -> None:
    slow, fast = offload_grid.Point("cake", 10, 20, 4), offload_grid.Point("pie", 1000, 100, 1)
    cells = [cell(slow, delay=20.0), Cell(fast, {**THERE, "delay": 0.01}, {**THERE, "delay": 9.0})]
    repeated = {slow: again(cells[0], {"delay": 20.0}), fast: again(cells[1], {"delay": 0.0}, {"delay": 9.0})}
    found = table(cells, repeated, "6.1 x", offload_grid.CAUSES)
    assert found["verdict"].to_list() == [APART, WITHIN_SEEDS] and found["remark"][0] is None
    assert found["remark"][1].startswith("the queue of a single flow is empty")
    causes = replace(offload_grid.CAUSES, apart=[Cause(lambda one: one.point.aqm == "cake", "a reason")])
    assert table(cells, repeated, "6.1 x", causes)["remark"][0] == "a reason"


def test_the_bands() -> None:
    assert cell(delivered=9.26).agrees and not cell(delivered=9.3).agrees
    assert cell(delay=11.5).agrees and not cell(delay=11.6).agrees
    quick = replace(cell(delay=2.9), there={**THERE, "delay": 2.0})
    assert quick.agrees, "a millisecond is allowed in any case"


def test_seeds_are_merged_into_means_and_a_spread() -> None:
    runs = [{**THERE, "delivered": delivered, "delay": delay} for delivered, delay in ((8.0, 9.0), (9.0, 12.0))]
    found = merge(POINT, [THERE, {**THERE, "delivered": 9.4}], runs)
    assert (found.seeds_there, found.seeds_here) == (2, 2)
    assert found.mean.there["delivered"] == 9.2 and found.mean.here["delivered"] == 8.5
    assert found.spread == {"delivered": (8.0, 9.0), "delay": (9.0, 12.0)}
    assert not found.is_chance and found.is_outside_spread
    assert not merge(POINT, [THERE], runs).is_outside_spread


class Runs:
    """Stub of the runner: the kernel has run some points with some seeds, and all results are equal."""

    totals: ClassVar[dict[str, Any]] = {
        "delivered_bps": 9e6,
        "flows": [{"direction": "forward", "delivered_bps": rate} for rate in (4.5e6, 4.5e6)],
        "links": {
            "forward": {"sojourn_ms": {"p50": 10.0, "p95": 30.0, "mean": 9.0}, "drop_rate": 0.02, "mark_rate": 0.0}
        },
    }

    def __init__(self, finished: set[tuple[str, int]]) -> None:
        self.finished = finished
        self.requests: list[tuple[str, int, str]] = []

    def find(self, run: Run) -> bool | None:
        return (run.scenario.canonical, run.seed) in self.finished or None

    def __call__(self, runs: Sequence[Run]) -> list[Any]:
        self.requests += [(run.scenario.canonical, run.seed, run.engine) for run in runs]
        return [SimpleNamespace(totals=self.totals) for _ in runs]


def test_only_finished_runs_are_compared_on_request() -> None:
    points = [POINT, replace(POINT, flows=1)]
    names = [point.scenario().canonical for point in points]
    runs = Runs({(names[0], 1), (names[0], 3)})
    cells = Grid(None, only_finished=True, runner=runs).cells(points)
    assert [one.point for one in cells] == [POINT] and cells[0].there == THERE
    assert runs.requests == [(names[0], 1, "kernel"), (names[0], 1, "simulate")]
    outside = cell(delivered=4.5)
    again = Grid(None, only_finished=True, runner=runs).repeated([*cells, outside])
    assert list(again) == [POINT] and (again[POINT].seeds_there, again[POINT].seeds_here) == (2, 10)
    assert [one.point for one in Grid(None, runner=runs).cells(points)] == points


def test_the_table_has_a_verdict_and_a_cause_for_each_cell() -> None:
    chance, spread = replace(POINT, flows=1), replace(POINT, control="cubic")
    marked = Point("ared", "reno", 10, 50, 8, ecn=True)
    cells = [cell(), cell(chance, delay=20.0), cell(spread, delivered=8.0), cell(marked, delivered=4.5)]
    repeated = {
        chance: again(cells[1], {"delay": 20.0}, {"delay": 0.0}),
        spread: again(cells[2], {"delivered": 8.0}, {"delivered": 9.1}),
        marked: again(cells[3], {"delivered": 4.5}, {"delivered": 4.7}),
    }
    found = table(cells, repeated, "6.1.192 x")
    assert found["verdict"].to_list() == [AGREES, MEANS_AGREE, WITHIN_SEEDS, APART] == list(VERDICTS)
    assert found["remark"].to_list() == [None] * 4, "a cause of seeds is not enough for means that are apart"
    assert found.select("seeds_there", "seeds_here").rows() == [(None, None), (1, 2), (1, 2), (1, 2)]
    assert found.select("mean_delivered_mbps_there", "mean_delivered_mbps_here").row(3) == (9.0, 4.6)
    assert found["delivered_mbps_here"].to_list() == [9.0, 9.0, 8.0, 4.5] and set(found["kernel"]) == {"6.1.192 x"}
    assert found.schema["rate_mbps"] == pl.Int64 and found["duration_s"].to_list() == [60] * 4
    close = again(cells[3], {"delivered": 8.9}, {"delivered": 9.0})
    [remark] = table(cells[3:], {marked: close}, "")["remark"]
    assert remark.startswith("a flow whose SYN is dropped")


def test_the_grid_of_controls_is_every_combination() -> None:
    points = control_grid.grid()
    assert len(points) == len(set(points)) == 10 * 2 * 2 * 3 * 3
    marked = [point for point in points if point.ecn]
    assert {point.control for point in marked} == {"dctcp"}
    limits = {(p.rate, p.rtt): p.scenario().document["link"]["limit"] for p in points if p.aqm == "droptail"}
    # One bandwidth-delay product of packets of 1500 bytes.
    assert limits == {(10, 20): "17 packets", (10, 100): "83 packets", (50, 20): "83 packets", (50, 100): "417 packets"}


def test_the_grid_of_other_rates_shares_no_cell_with_the_first() -> None:
    points = control_grid.other_grid()
    assert len(points) == len(set(points)) == 12 * 2 * 3 * 3
    assert not {(p.rate, p.rtt) for p in points} & {(p.rate, p.rtt) for p in control_grid.grid()}
    assert {(p.rate, p.duration_s) for p in points} == {(25, 20), (200, 15)}
    limits = {p.rate: p.scenario().document["link"]["limit"] for p in points if p.aqm == "droptail"}
    assert limits == {25: "125 packets", 200: "1000 packets"}


def test_means_agree_within_five_percent_or_the_seeds_intervals() -> None:
    agree = judge_own._agree
    assert agree([10.0, 10.0], [10.5, 10.5]) and not agree([10.0, 10.0], [10.6, 10.6])
    assert agree([1.0, 1.0], [1.2, 1.2]) and not agree([1.0, 1.0], [1.25, 1.25]), "0.2 ms"
    # Of two values the half interval is 12.7 standard errors: 12.7 times half of their distance.
    assert agree([9.0, 11.0], [20.0, 20.0]) and not agree([9.9, 10.1], [20.0, 20.0])


def test_every_queue_manager_is_judged_below_every_load() -> None:
    for aqm, _ in judge_own.PAIRS:
        judge_own._scenario(f"sojourn:{aqm}", 10, [judge_own.TCP], "10 s")
    names = {aqm["name"] for aqm in registry()["aqms"]} - set(judge_own.LEFT_OUT)
    for name in names:
        rate, flows = judge_own.LOADS["4 BBR, 60 ms"]
        scenario = judge_own._scenario(f"sojourn:{judge_own.SPELLINGS.get(name, name)}", rate, flows, "6 s")
        engine.check(scenario)
    assert len(names) >= 29 and len(judge_own.LOADS) == 8
