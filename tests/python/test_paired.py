"""Paired differences against textbook data and closed forms."""

from __future__ import annotations

from math import atan, pi
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sojourn as sj
from conftest import SHORT, Cli, printed_json
from sojourn.model.analysis.metrics import METRICS
from sojourn.model.analysis.pairs import paired, same_aqm
from sojourn.model.analysis.stats import PairedDifference, paired_difference

pytestmark = pytest.mark.usefixtures("undrawn")

# Darwin's crossed and self-fertilised maize, eighths of an inch (R. A. Fisher, The Design of Experiments, chapter III).
MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def _of(differences: list[float]) -> PairedDifference:
    return paired_difference([0.0] * len(differences), differences)


def test_darwin_s_maize() -> None:
    found = _of([float(one) for one in MAIZE])
    assert found.n == 15
    assert found.difference == pytest.approx(20.933, abs=5e-4)
    assert found.p_t == pytest.approx(0.0497, abs=5e-5)  # t = 2.148
    # The rank sum of the two negative differences is 24; 1352 of the 2^15 sign patterns are as extreme.
    assert found.p_wilcoxon == pytest.approx(1352 / 2**15, rel=1e-12)
    assert found.ci95 == pytest.approx(20.933 * 2.14479 / 2.148, rel=1e-3)
    assert found.significant


def test_two_pairs_follow_cauchy() -> None:
    found = _of([1.0, 3.0])  # t = 2 / 1 with one degree of freedom
    assert found.p_t == pytest.approx(1 - 2 * atan(2) / pi, rel=1e-12)
    assert found.p_wilcoxon is None
    assert not found.significant


@pytest.mark.parametrize(("n", "p"), [(5, None), (6, 2 / 2**6), (10, 2 / 2**10)])
def test_wilcoxon_where_all_go_one_way(n: int, p: float | None) -> None:
    found = _of([1.0 + index for index in range(n)]).p_wilcoxon
    assert found == (None if p is None else pytest.approx(p, rel=1e-12))


def test_both_tests_have_to_agree() -> None:
    """One outlier dominates the t test, but not the ranks."""
    found = _of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 1000.0])
    assert found.p_wilcoxon is not None
    assert found.p_t is not None
    assert found.p_wilcoxon < 0.05 < found.p_t
    assert not found.significant


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([2.0], PairedDifference(1, 2.0, None, None, None)),
        ([0.0, 0.0, 0.0], PairedDifference(3, 0.0, 0.0, None, None)),
        ([2.0, 2.0], PairedDifference(2, 2.0, 0.0, None, None)),
    ],
)
def test_edges(differences: list[float], expected: PairedDifference) -> None:
    assert _of(differences) == expected


SAMPLES = st.lists(st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)), min_size=2, max_size=20)


@given(SAMPLES)
def test_the_other_way_round_is_the_negative(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    there, back = paired_difference(first, second), paired_difference(second, first)
    assert back.difference == -there.difference
    assert (back.ci95, back.n, back.p_t) == (there.ci95, there.n, there.p_t)
    assert back.p_wilcoxon == pytest.approx(there.p_wilcoxon)


@given(SAMPLES, st.lists(st.integers(-1000, 1000), min_size=20, max_size=20))
def test_common_effects_cancel_out(pairs: list[tuple[int, int]], common: list[int]) -> None:
    first, second = zip(*pairs, strict=True)
    moved = [[value + more for value, more in zip(values, common, strict=False)] for values in (first, second)]
    assert paired_difference(*moved) == paired_difference(first, second)


@given(SAMPLES)
def test_the_interval_and_the_t_test_agree(pairs: list[tuple[int, int]]) -> None:
    found = paired_difference(*zip(*pairs, strict=True))
    assert found.ci95 is not None
    assert (found.p_t is None) == (found.ci95 == 0)
    if found.p_t is not None and abs(found.p_t - 0.05) > 1e-9:
        assert (abs(found.difference) > found.ci95) == (found.p_t < 0.05)


def _runs(rows: list[tuple[str, int, int, float]]) -> pl.DataFrame:
    """Runs with the same value for all metrics."""
    return pl.DataFrame(
        [
            {"aqm": aqm, "load": load, "seed": seed, "fingerprint": str(number)} | {m.column: value for m in METRICS}
            for number, (aqm, load, seed, value) in enumerate(rows)
        ]
    )


def test_pairs_are_of_one_seed_and_one_place() -> None:
    rows = [("a", 1, 1, 1.0), ("a", 1, 2, 2.0), ("a", 9, 1, 10.0), ("a", 9, 2, 20.0)]
    rows += [("b", 9, 2, 21.0), ("b", 9, 1, 12.0), ("b", 1, 1, 1.5), ("b", 1, 2, 2.5), ("b", 1, 3, 99.0)]
    found = paired(_runs(rows), "aqm", "a", ["load"]).filter(metric="sojourn_mean_ms")
    assert found.select("load", "aqm", "baseline", "n", "difference").rows() == [
        (1, "b", "a", 2, 0.5),
        (9, "b", "a", 2, 1.5),
    ]
    assert found["ci95"][0] == 0.0
    other = paired(_runs(rows), "aqm", "b", ["load"]).filter(metric="sojourn_mean_ms")
    assert other["difference"].to_list() == [-0.5, -1.5]


def test_a_metric_that_a_run_lacks_has_no_pair() -> None:
    runs = _runs([("a", 1, 1, 1.0), ("a", 1, 2, 2.0), ("b", 1, 1, 2.0), ("b", 1, 2, 4.0)])
    runs = runs.with_columns(sojourn_mean_ms=pl.when(pl.col("seed") == 1).then(None).otherwise("sojourn_mean_ms"))
    found = {row["metric"]: row for row in paired(runs, "aqm", "a").iter_rows(named=True)}
    assert (found["sojourn_mean_ms"]["n"], found["goodput_bps"]["n"]) == (1, 2)
    assert (found["sojourn_mean_ms"]["difference"], found["sojourn_mean_ms"]["p_t"]) == (2.0, None)


def test_a_baseline_may_be_spelled_otherwise() -> None:
    names = ["droptail", "codel target 7ms", '{"name": "pie"}']
    assert same_aqm(names, None) == "droptail"
    assert same_aqm(names, "codel target 7000us") == "codel target 7ms"
    with pytest.raises(sj.InputError, match=r'"pie" is unknown; expected one of droptail, codel target 7ms'):
        same_aqm(names, "pie")


def test_common_random_numbers_narrow_the_difference() -> None:
    """For two similar queue managers the difference has a narrower interval than each value."""
    found = sj.compare(
        ["codel", "codel target 5700us"], flows=4, rtt="20 ms", duration="10 s", warmup="0 s", seeds=8, packets=False
    )
    row = found.paired().row(by_predicate=pl.col("metric") == "goodput_bps", named=True)
    apart = sum(half**2 for half in found.table["goodput_bps_ci95"].to_list()) ** 0.5
    assert row["n"] == 8
    assert row["difference"] == pytest.approx(found.table["goodput_bps"][1] - found.table["goodput_bps"][0])
    assert row["ci95"] < apart


def test_compare_shows_differences(cli: Cli) -> None:
    args = ["compare", "--aqm", "droptail,codel,pie", "--duration", "5s", "--seeds", "3"]
    found = printed_json(cli(*args, "--json"))["paired"]
    assert {(row["aqm"], row["baseline"], row["n"]) for row in found} == {
        ("codel", "droptail", 3),
        ("pie", "droptail", 3),
    }
    other = printed_json(cli(*args, "--paired", "codel", "--json"))["paired"]
    assert {row["baseline"] for row in other} == {"codel"}
    text = " ".join(cli(*args, "--paired", "codel").output.split())
    assert "difference to codel, seed by seed" in text
    assert "* p < 0.05 in the paired t test" in " ".join(text.split())
    assert printed_json(cli("compare", "--aqm", "codel,pie", "--duration", "5s", "--json"))["paired"] == []


PAIRED_REFUSED = {
    "one seed": ("codel,pie", "1", "codel", "several seeds"),
    "one queue manager": ("codel", "2", "codel", "several queue managers"),
    "another": ("codel,pie", "2", "red", '"red" is unknown'),
}


@pytest.mark.parametrize("case", PAIRED_REFUSED)
def test_paired_refused(cli: Cli, case: str) -> None:
    aqms, seeds, baseline, expected = PAIRED_REFUSED[case]
    result = cli("compare", "--aqm", aqms, "--seeds", seeds, "--paired", baseline, "--duration", "3s")
    assert result.exit_code == 2
    assert expected in result.stderr


def test_sweep_pairs_keys_that_change_together(cli: Cli, tmp_path: Path) -> None:
    """A limit that varies with the queue manager belongs to it, not to the point of comparison."""
    sweep = '"link.aqm, link.limit" = [["codel", "1000 packets"], ["pie", "50 packets"]]\n"flows.0.count" = [1, 2]'
    (tmp_path / "study.toml").write_text(f"{SHORT}[sweep]\n{sweep}\nseeds = 2\n")
    found = printed_json(cli("sweep", "study.toml", "--json"))["paired"]
    assert {(row["flows.0.count"], row["link.aqm"], row["baseline"]) for row in found} == {
        (1, "pie", "codel"),
        (2, "pie", "codel"),
    }
    assert "difference to pie" in cli("sweep", "study.toml", "--paired", "pie").output
