"""The figures of schwarzkopf2016: measurements, and relations that can be true and false."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from conftest import Cli
from paper_checks import assert_true_but_false_when_shuffled, every_figure, relations_of
from sojourn.model.analysis.packets import tewma
from sojourn.model.analysis.stats import line_fit
from sojourn.papers.judge import Measurements
from sojourn.papers.schwarzkopf2016 import FIGURES, fig1
from sojourn.papers.schwarzkopf2016.analysis import drop_phases

PAPER = "schwarzkopf2016"
SAME_FOR_EVERY_ROW = {"S0-F1-a"}
"""Relations with the same condition on every row, which shuffling cannot change."""

# One row per AQM and load (and value) that satisfies the paper's claims. `f` flows, `v` swept value.
LOADS, AQMS = (1, 4, 16, 64), ("CoDel", "CoDel-ACT", "PIE")
SWEEP_LOADS = (1, 4, 8, 16, 64)


def _sweep(
    values: dict[str, tuple[float, ...]], cell: Callable[[str, float, int], tuple[float, float]]
) -> pl.DataFrame:
    rows = [(aqm, v, f, *cell(aqm, v, f)) for aqm, swept in values.items() for v in swept for f in SWEEP_LOADS]
    return pl.DataFrame(rows, schema=["aqm", "value_ms", "flows", "mean_ms", "utilisation"], orient="row")


def _table(columns: list[str], cell: Callable[[str, int], tuple[float, ...]]) -> pl.DataFrame:
    rows = [(aqm, f, *cell(aqm, f)) for aqm in AQMS for f in LOADS]
    return pl.DataFrame(rows, schema=["aqm", "flows", *columns], orient="row")


def _timescale(aqm: str, v: float, f: int) -> tuple[float, float]:
    if aqm == "PIE":
        return min(16.0, 10 + v / 4) + v / 100, 1 if v >= 16 else 0.98 - 0.01 * (f == 1)
    few = 0.02 if f in (4, 8, 16) and aqm == "CoDel" else 0.0 if f > 1 else 0.005
    return v / 10 + math.log(f + 1), 1 - few - (0.001 * (200 - v) / 200 if aqm == "CoDel-ACT" else 0)


THRESHOLDS = dict.fromkeys(AQMS, (1.0, 2.5, 5.0, 10.0, 16.0, 30.0))
INTERVALS = (12.5, 25.0, 50.0, 75.0, 100.0, 125.0, 150.0, 200.0)
SCALES = {"CoDel": INTERVALS, "CoDel-ACT": INTERVALS, "PIE": (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0, 150.0)}
PHASES = [
    "zero",
    "phase_5_ms",
    "phase_50_ms",
    "zero_5",
    "end_50_ms",
    "end_500_ms",
    "zero_50",
    "zero_500",
    "rebound_500",
]
AS_PUBLISHED = {
    "S0-F1-d": _table(["peak_ms", "phase_s"], lambda _, f: (50 + f, 1 + f / 16)),
    "S0-F3a-1": _sweep(THRESHOLDS, lambda _, v, f: (v + math.log(f), 1.0)),
    "S0-TS-1": _sweep(SCALES, _timescale),
    "S0-TS-4": _sweep(SCALES, _timescale),
    "S0-TS-8": _sweep(SCALES, _timescale),
    "S0-TS-9": _sweep(SCALES, _timescale),
    "S0-TS-12": _sweep(SCALES, _timescale),
    "S0-F4-ACT-bound": _table(["trend"], lambda aqm, f: (0.001 if aqm == "CoDel-ACT" and f > 1 else 0.5,)),
    "S0-F6-zero": _table(PHASES, lambda _, f: (0.05 * (f in (4, 16)), 60, 30, 0, 1, 4, 0.1, 0.01, 0.9)),
    "S0-F6-5s": _table(
        PHASES, lambda a, f: (0.1, *((60, 30, 0) if (a, f) == ("CoDel", 16) else (1, 70, 1)), *[1.0] * 5)
    ),
    "S0-F6-500s": _table(
        PHASES, lambda a, f: (0.1, 1, 1, 1, *((1, 4, 0.1, 0.01, 0.9) if (a, f) == ("CoDel", 16) else (9, 0, 0, 1, 0)))
    ),
}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("paper")


@pytest.fixture(scope="module")
def measured(out: Path) -> dict[str, Measurements]:
    """All figures, measured with one seed."""
    return {figure: done.measured for figure, done in every_figure(PAPER, out).items()}


def test_the_whole_paper(cli: Cli, measured: dict[str, Measurements], out: Path) -> None:
    assert measured
    result = cli("reproduce", PAPER, "--seeds", "1", "-o", out, "--claims", "--json")
    claims = json.loads(result.stdout)
    assert len(claims) == len({claim["id"] for claim in claims}) == 139
    assert not [claim["id"] for claim in claims if claim["verdict"] == "not-run"]
    for figure in FIGURES:
        for suffix in (".png", ".svg", ".claims.json", ".parquet"):
            assert (out / PAPER / f"{figure}{suffix}").stat().st_size > 500
    page = (out / PAPER / "index.html").read_text(encoding="utf-8")
    assert all(f'id="{claim["id"]}"' in page for claim in claims)
    assert page.count("<img ") == len(FIGURES)


def test_one_seed_measures_the_paper_s_quantities(measured: dict[str, Measurements]) -> None:
    """Values that every seed comes close to, one per figure."""
    near = {
        "S0-F1-e": 0.97,
        "S0-F2-a": 0.04,
        "S0-F3a-5": 0.88,
        "S0-TS-3": 16.1,
        "S0-F4-CoDel-64-count50": 16_100.0,
        "S0-F4-ACT-64-count": 1_410.0,
        "S0-F6-drain": 36.0,
        "S0-F6-pkt": 1.2056,
        "S0-U-CoDel-30": 0.96,
    }
    samples = {claim: values for one in measured.values() for claim, values in one.samples.items()}
    for claim, value in near.items():
        assert samples[claim][0] == pytest.approx(value, rel=0.1), claim


RELATIONS = {
    claim: (figure, relation)
    for claim, (figure, relation) in relations_of(PAPER).items()
    if figure != "table1" and claim not in SAME_FOR_EVERY_ROW
}


@pytest.mark.parametrize("claim", RELATIONS)
def test_a_relation_holds_for_the_paper_and_fails_when_shuffled(claim: str, measured: dict[str, Measurements]) -> None:
    """Synthetic cells if our own do not satisfy the paper's claims."""
    figure, relation = RELATIONS[claim]
    cells = AS_PUBLISHED[claim] if claim in AS_PUBLISHED else measured[figure].cells.drop("seed")
    assert_true_but_false_when_shuffled(relation, cells, {"aqm", "flows", "value_ms"})


def test_a_later_spike_is_not_the_initial_one(measured: dict[str, Measurements]) -> None:
    cells = measured["fig1"].cells
    assert fig1.S0_F1_a(cells)
    assert not fig1.S0_F1_a(cells.with_columns(peak_s=pl.col("peak_s") + 5))
    assert not fig1.S0_F1_a(cells.with_columns(later_ms=pl.col("peak_ms")))


def test_drop_phases_end_when_a_packet_has_waited_less_than_the_target() -> None:
    window = pl.DataFrame(
        {
            "time_s": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
            "sojourn_ms": [9.0, 9.0, 6.0, 9.0, 4.0, 9.0, 9.0],
            "dropped": [True, False, False, True, False, False, True],
        }
    )
    assert drop_phases(window).rows() == [(0.0, 0.3, 2), (0.6, 0.6, 1)]


def test_the_smoothed_rate_of_regular_events_is_their_rate() -> None:
    times = np.arange(0, 20, 0.01)
    rates = tewma(times, np.array([0.0, 10.0, 19.995, 20.495]))
    assert rates[0] == pytest.approx(1 / 0.5)
    assert rates[1:3] == pytest.approx(100, rel=0.02)
    assert rates[3] == pytest.approx(rates[2] * math.exp(-1), rel=0.01)


def test_line_fit() -> None:
    x = np.array([0.0, 1.0, 2.0])
    assert line_fit(x, 3 * x + 1) == pytest.approx((3, 1))
    assert line_fit(x, np.array([0.0, 1.0, 0.0]))[1] == pytest.approx(0)


def test_traces_are_compared_up_to_their_first_difference() -> None:
    def trace(sojourns: list[float], dropped: list[bool]) -> pl.DataFrame:
        return pl.DataFrame({"time_s": range(len(sojourns)), "sojourn_ms": sojourns, "dropped": dropped})

    one = trace([1.0, 2.0, 3.0, 4.0], [False, True, False, True])
    assert fig1.shared_drops(one, one) == 2
    assert fig1.shared_drops(one, trace([1.0, 2.0, 3.0, 4.0], [False, True, False, False])) == 1
    assert fig1.shared_drops(one, trace([1.0, 2.0, 3.5, 4.0], [False, True, False, True])) == -1
