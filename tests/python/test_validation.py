"""Comparison with runs of the real kernel."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from sojourn.engines.validation.recorded import SCALE, Cell, main, scenario
from sojourn.model.scenarios.scenario import Scenario

ROOT = Path(__file__).parents[2]
REFERENCE = Path(os.environ.get("SOJOURN_SHARED", ROOT.parent / "shared")) / "kernel" / "reference"

ROW = {
    "rate_mbps": 10,
    "base_rtt_ms": 20,
    "flows": 4,
    "cc": "reno",
    "ecn": 0,
    "seed": 2,
    "duration_s": 60,
    "warmup_s": 10,
}


def cell(delivered: float, delay: float, there: float = 10.0, spread: float = 0.0) -> Cell:
    return Cell((), delivered=9.0, delay=there, spread=spread, delivered_here=delivered, delay_here=delay)


@pytest.mark.parametrize(
    ("found", "agrees", "far"),
    [
        (cell(9.0, 10.0), True, False),
        (cell(9.26, 11.4), True, False),
        (cell(9.28, 10.0), False, False),  # 3.1 %
        (cell(9.0, 11.6), False, False),  # more than 15 %
        (cell(9.0, 2.9, there=2.0), True, False),  # less than 1 ms
        (cell(9.0, 13.0, spread=3.1), True, False),  # the kernel's own spread
        (cell(9.0, 14.1), False, True),  # more than 40 %
        (cell(9.0, 3.9, there=2.0), False, False),  # less than 2 ms
        (cell(5.0, 10.0), False, True),
    ],
)
def test_bands(found: Cell, agrees: bool, far: bool) -> None:
    assert (found.agrees, found.is_far) == (agrees, far)


def test_a_row_becomes_its_set_up() -> None:
    red = "red limit 1514000 min 3125 max 9375 avpkt 1000 burst 6 bandwidth 10mbit adaptative"
    document = scenario({**ROW, "aqm": "ared", "qdisc": red})
    assert document["link"]["aqm"].startswith(f"ared@linux-5.7 min {round(3125 * SCALE)}B max {round(9375 * SCALE)}B")
    assert document["link"]["limit"] == "1538000 B"
    starts = [flow["start"] for flow in document["flows"]]
    assert starts[0] == "956034271 ns", "the first number of Python's generator with seed 2"
    assert len(set(starts)) == 4
    for aqm, qdisc in [
        ("pfifo", "pfifo limit 82"),
        ("codel", "codel limit 1000 target 5ms interval 100ms noecn"),
        ("fq_codel", "fq_codel limit 1000 target 5ms interval 100ms ecn"),
        ("pie", "pie limit 1000 target 15ms tupdate 15ms alpha 2 beta 20 noecn"),
    ]:
        Scenario.build(scenario({**ROW, "aqm": aqm, "qdisc": qdisc}))


def test_a_folder_without_the_reference_is_named(tmp_path: Path) -> None:
    ran = CliRunner().invoke(main, [str(tmp_path)])
    assert ran.exit_code == 1
    assert "has no reference.csv" in ran.output


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="needs the kernel's runs in ../shared, which is absent")
def test_the_stack_agrees_with_the_kernel(tmp_path: Path) -> None:
    file = tmp_path / "recorded.csv"
    ran = CliRunner().invoke(main, [str(REFERENCE), "-o", str(file)])
    assert ran.exit_code == 0, ran.output
    assert "0 are far off" in ran.output
    assert pl.read_csv(file).height == 100
