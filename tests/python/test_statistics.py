"""Confidence intervals, merged histograms and the aggregation of runs, against values computed by hand."""

from __future__ import annotations

from math import sqrt

import polars as pl
import pytest

import sojourn as sj
from conftest import SHORT
from sojourn.model.analysis.metrics import METRICS, Metric, aggregate, joint_fingerprint
from sojourn.model.analysis.stats import mean_ci, merge_histograms, quantile


def test_mean_and_half_width() -> None:
    mean, half = mean_ci([1.0, 2.0, 3.0, 4.0])
    assert mean == 2.5
    # Student's t with 3 degrees of freedom is 3.1824463; the standard deviation is sqrt(5/3).
    assert half == pytest.approx(3.182446305 * sqrt(5 / 3) / 2, rel=1e-9)
    assert mean_ci([7.0]) == (7.0, None)
    assert mean_ci([7.0, 7.0]) == (7.0, 0.0)


def _histogram(rows: list[tuple[float, float, int]]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema=["lower_ms", "upper_ms", "count"], orient="row")
    return frame.with_columns(link=pl.lit("forward"))


def test_histograms_add_up() -> None:
    merged = merge_histograms([_histogram([(0, 1, 50), (2, 3, 49)]), _histogram([(2, 3, 1), (5, 6, 1)])])
    assert merged["count"].to_list() == [50, 50, 1]
    assert quantile(merged, 0.4) == 0.5
    assert quantile(merged, 0.9) == 2.5
    assert quantile(merged, 1.0) == 5.5
    assert quantile(merged.clear(), 0.5) is None


def test_merged_quantile_agrees_with_the_core() -> None:
    result = sj.Scenario.parse(SHORT).run()
    merged = merge_histograms([result.histogram])
    for name, q in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        assert quantile(merged, q) == pytest.approx(result.summary[f"sojourn_{name}_ms"][0], rel=2e-3)


def test_quantile_agrees_with_the_packets() -> None:
    result = sj.Scenario.parse(SHORT, {"probes.packets": True, "warmup": "0 s"}).run()
    sent = result.packets.filter((pl.col("link") == "forward") & (pl.col("fate") == "sent"))["sojourn_ms"]
    for name, q in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        exact = sent.quantile(q, interpolation="higher")
        assert result.summary[f"sojourn_{name}_ms"][0] == pytest.approx(exact, rel=2e-3, abs=1e-3)
    assert result.summary["sojourn_mean_ms"][0] == pytest.approx(sent.mean(), rel=1e-9)
    assert result.summary["sojourn_max_ms"][0] == pytest.approx(sent.max(), rel=1e-9)


def test_aggregate_groups_in_order() -> None:
    row = {metric.column: 1.0 for metric in METRICS}
    runs = pl.DataFrame(
        [
            row | {"aqm": "b", "fingerprint": "1", "packets": 10},
            row | {"aqm": "a", "fingerprint": "2", "packets": 20},
            row | {"aqm": "b", "fingerprint": "3", "packets": 30},
        ]
    )
    table = aggregate(runs, ["aqm"])
    assert table["aqm"].to_list() == ["b", "a"]
    assert table["seeds"].to_list() == [2, 1]
    assert table["packets"].to_list() == [20, 20]
    assert table["packets_ci95"][1] is None
    assert table["fingerprint"][1] == "2"


def test_joint_fingerprint_sees_the_order() -> None:
    assert joint_fingerprint(["a"]) == "a"
    assert joint_fingerprint(["a", "b"]) != joint_fingerprint(["b", "a"])
    assert len(joint_fingerprint(["a", "b"])) == 16


def test_metric_shows_unit_digits_and_interval() -> None:
    percent = Metric("u", "utilisation", "%", 100, 1)
    assert percent.show(0.9876) == "98.8"
    assert percent.show(0.9876, 0.0123) == "98.8 ± 1.2"
    assert percent.show(None) == "–"
