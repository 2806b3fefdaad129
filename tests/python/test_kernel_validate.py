"""The page of the simulator beside the kernel: its grid, its bands, its text. No kernel needed."""

from __future__ import annotations

from dataclasses import replace

from sojourn.kernel import engine
from sojourn.kernel.validate import AQMS, CONTROLS, FLOWS, MARKING, RATES, RTTS_MS, Cell, Point, grid, report

POINT = Point("codel", "reno", 10, 50, 8)
THERE = {"goodput": 9.0, "delay": 10.0, "tail": 30.0, "drops": 2.0, "marks": 0.0, "jain": 0.99}


def cell(**here: float) -> Cell:
    return Cell(POINT, THERE, {**THERE, **here})


def test_the_grid_covers_what_it_should_and_can_run() -> None:
    points = list(grid())
    assert len(points) == len(set(points)) == len(AQMS) * 2 * 11 + len(MARKING) * 2
    assert {point.rate for point in points} == set(RATES) and {point.rtt for point in points} == set(RTTS_MS)
    assert {point.flows for point in points} == set(FLOWS) and {point.control for point in points} == set(CONTROLS)
    for point in points:
        engine.check(point.scenario())


def test_the_bands() -> None:
    assert cell(goodput=9.26).agrees and not cell(goodput=9.3).agrees
    assert cell(delay=11.5).agrees and not cell(delay=11.6).agrees
    quick = replace(cell(delay=2.9), there={**THERE, "delay": 2.0})
    assert quick.agrees, "a millisecond is allowed in any case"


def test_the_page_names_the_worst() -> None:
    text = report([cell(), cell(goodput=4.5), cell(delay=20.0)], "Linux 6.1.192, build x")
    assert "**1 of 3 cells agree (33 %).**" in text
    worst = text.split("## The cells that differ most")[1].split("\n- ")
    assert worst[1].startswith("codel, reno, 10 Mbit/s, 50 ms, 8 flows: goodput 9.00 there and 4.50 here")
    assert "median delay 10.00 and 20.00 ms (6.7 bands)" in worst[2]
    assert text.count("| outside |") == 2
