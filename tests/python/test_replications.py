"""Number of replications, and MSER-5 on known transients; test_warmup.py tests the warm-up of runs."""

from __future__ import annotations

import random
from math import exp, sqrt
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SHORT, Cli, printed_json
from sojourn.model.analysis.replicate import Precision, replicate, widest_percent
from sojourn.model.analysis.stats import mser

NOISE = random.Random(1)
FEWEST_BATCHES = 5
"""Minimum number of batches after the transient."""
GAUSS = [NOISE.gauss(0, 1) for _ in range(2000)]

TRANSIENTS = {
    "none": (GAUSS, 0, 100),
    "a step of 40": ([40 * (i < 300) + x for i, x in enumerate(GAUSS)], 300, 400),
    # 100 e^(-i/50) has fallen below the noise at i = 230.
    "an exponential": ([100 * exp(-i / 50) + x for i, x in enumerate(GAUSS)], 150, 350),
    "a ramp from zero": ([min(i / 500, 1) * 50 + x for i, x in enumerate(GAUSS)], 450, 600),
    "all alike": ([3.0] * 100, 0, 0),
}


@pytest.mark.parametrize("case", TRANSIENTS)
def test_mser_finds_the_end_of_a_transient(case: str) -> None:
    series, first, last = TRANSIENTS[case]
    found = mser(series)
    assert found is not None
    assert first <= found <= last


@pytest.mark.parametrize("series", [[float(i) for i in range(1000)], [0.0] * 900 + [9.0] * 100, [1.0] * 49])
def test_mser_reports_too_short_a_series(series: list[float]) -> None:
    assert mser(series) is None


def test_a_step_is_left_out_exactly() -> None:
    assert mser([7.0] * 100 + [1.0] * 300) == 100


@given(st.lists(st.integers(-50, 50), min_size=50, max_size=120))
def test_mser_is_the_least_of_its_definition(series: list[int]) -> None:
    means = [sum(series[at : at + 5]) / 5 for at in range(0, len(series) - 4, 5)]
    values = {}
    for d in range(len(means) - FEWEST_BATCHES + 1):
        rest = means[d:]
        mean = sum(rest) / len(rest)
        values[d] = sum((y - mean) ** 2 for y in rest) / len(rest) ** 2
    least = min(values.values())
    candidates = [d for d, value in values.items() if value <= least + 1e-9]
    found = mser([float(x) for x in series])
    if found is None:
        assert max(candidates) > len(means) // 2
    else:
        assert found // 5 in candidates


def _seeds_tried(goal: Precision, first: int, half: Any) -> tuple[list[int], bool]:
    """Seeds per round, if `half(n)` is the half width in percent."""
    tried: list[int] = []

    def run(seeds: list[int]) -> pl.DataFrame:
        assert seeds == list(range(1, len(seeds) + 1))
        tried.append(len(seeds))
        halves = [half(len(seeds)), 0.0]
        rows = {"sojourn_mean_ms": [100.0, 50.0], "sojourn_mean_ms_ci95": halves, "distinct": [len(seeds)] * 2}
        return pl.DataFrame(rows)

    _, reached = replicate(goal, first, run, lambda table: table)
    return tried, reached.reached


def test_seeds_come_until_the_half_width_is_small() -> None:
    def shrinking(n: int) -> float:
        return 10 / sqrt(n)

    assert _seeds_tried(Precision(2), 3, shrinking) == ([5, 10, 20, 25], True)
    assert _seeds_tried(Precision(5), 3, shrinking) == ([5], True)
    assert _seeds_tried(Precision(2, most=12), 3, shrinking) == ([5, 10, 12], False)
    assert _seeds_tried(Precision(2), 30, shrinking) == ([30], True)
    assert _seeds_tried(Precision(2, most=4), 30, shrinking) == ([4], False)
    assert _seeds_tried(Precision(9, most=8), 5, lambda n: 9.001) == ([5, 6, 7, 8], False)


def test_widest_half_width() -> None:
    rows = {"jain": [1.0, None, 0.0, 2.0], "jain_ci95": [0.01, None, 0.0, 0.1]}
    assert widest_percent(pl.DataFrame(rows), "jain") == pytest.approx(5.0)
    assert widest_percent(pl.DataFrame({"jain": [1.0], "jain_ci95": [None]}), "jain") == float("inf")
    assert widest_percent(pl.DataFrame({"jain": [0.0], "jain_ci95": [0.1]}), "jain") == float("inf")


def test_sweep_until(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f'{SHORT}[sweep]\n"link.aqm" = ["codel", "pie"]\nseeds = 2\n')
    found = printed_json(cli("sweep", "study.toml", "--until", "10%", "--metric", "utilisation", "--json"))
    until = found["until"]
    assert until["reached"]
    assert until["widest_percent"] <= 10
    assert until["seeds"] == len(found["seeds"]) >= 5
    assert found["computed"] == 2 * until["seeds"] == pl.read_parquet(found["runs"]).height
    for row in found["table"]:
        assert 100 * row["utilisation_ci95"] <= 10 * row["utilisation"]
    jobs = printed_json(
        cli("sweep", "study.toml", "--until", "10%", "--metric", "utilisation", "--jobs", "1", "-o", "o", "--json")
    )
    assert Path(jobs["runs"]).read_bytes() == Path(found["runs"]).read_bytes()


def test_until_is_not_reached(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f'{SHORT}[sweep]\n"link.aqm" = ["codel", "pie"]\n')
    result = cli("sweep", "study.toml", "--until", "0.001%", "--max-seeds", "7")
    assert result.exit_code == 1
    assert "of the mean with 7 seeds; 0.001 % not reached" in result.output


def test_compare_until(cli: Cli) -> None:
    args = ["compare", "--aqm", "codel,pie", "--duration", "5s", "--until", "20%", "--max-seeds", "40", "--json"]
    result = cli(*args)
    assert result.exit_code == 0, result.output
    found = printed_json(result)
    assert found["until"]["metric"] == "sojourn_mean_ms"
    assert all(row["seeds"] == found["until"]["seeds"] for row in found["table"])


UNTIL_REFUSED = {
    "no share": (["--until", "5"], "write e.g. 5%"),
    "nothing": (["--until", "0%"], "cannot be reached"),
    "an unknown metric": (["--until", "5%", "--metric", "goodput"], 'did you mean "goodput_bps"'),
    "a metric alone": (["--metric", "jain"], "need --until"),
}


@pytest.mark.parametrize("case", UNTIL_REFUSED)
def test_until_refused(cli: Cli, case: str) -> None:
    options, expected = UNTIL_REFUSED[case]
    result = cli("compare", "--aqm", "codel", *options)
    assert result.exit_code == 2
    assert expected in result.stderr
