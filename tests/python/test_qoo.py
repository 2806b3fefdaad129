"""Quality of Outcome: scores and percentiles of sums computed by hand, and the links of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sojourn as sj
from conftest import Cli, printed_json
from sojourn.base.errors import InputError
from sojourn.model.analysis.outcome import APPS, App, Range, outcome, path_of, points, read_app, score_samples

IDLE: dict[str, Any] = {
    "duration": "5 s",
    "link": {"rate": "100 Mbit/s", "delay": "5 ms"},
    "flows": [{"kind": "cbr", "rate": "1 Mbit/s", "access_delay": "7 ms"}],
}


@pytest.mark.parametrize(("measured", "score"), [(0, 100), (50, 100), (60, 80), (75, 50), (99, 2), (100, 0), (1000, 0)])
def test_a_score_lies_on_a_straight_line_between_both_ends(measured: float, score: float) -> None:
    assert Range(50, 100).score(measured) == pytest.approx(score)


def test_the_least_score_of_all_percentiles_and_the_loss_counts() -> None:
    app = App("own", ((50, Range(10, 20)), (100, Range(10, 110))), Range(0.001, 0.011))
    times = np.array([5.0, 12.0, 14.0, 60.0])
    found = score_samples(app, times, 0.003)
    # Two of four are at most 12 ms; the longest is 60 ms.
    assert [(percent, ms) for percent, ms, _ in found.latency] == [(50, 12), (100, 60)]
    assert [score for *_, score in found.latency] == pytest.approx([80, 50])
    assert found.loss_score == pytest.approx(80)
    assert found.score == pytest.approx(50)
    assert score_samples(app, times, 0.009).score == pytest.approx(20)


def test_percentiles_of_two_queues_are_of_the_sum_of_independent_times() -> None:
    from sojourn.model.analysis.outcome import _sum

    two = pl.DataFrame({"lower_ms": [0.0, 10.0], "upper_ms": [0.0, 10.0], "count": [500, 500]})
    both = _sum(points(two), points(two))
    # 0, 10 and 20 ms with a quarter, a half and a quarter.
    assert [(both == ms).mean() for ms in (0, 10, 20)] == pytest.approx([0.25, 0.5, 0.25], abs=0.002)


def test_an_idle_link_below_the_optimum_is_as_good_as_it_can_be() -> None:
    result = sj.Scenario.build(IDLE).run()
    assert path_of(result) == (["forward", "reverse"], pytest.approx(24))
    for app in APPS.values():
        found = outcome(app, result)
        assert (found.score, found.loss, found.loss_score) == (100, 0, 100)
        assert found.latency[0][1] == pytest.approx(24)


def test_a_queue_that_is_always_full_and_loses_a_third_by_hand() -> None:
    """12 Mbit/s into 8: packets wait for ten packets of 1.5 ms, and a third is dropped."""
    full = IDLE | {
        "warmup": "1 s",
        "link": {"rate": "8 Mbit/s", "delay": "20 ms", "limit": "10 packets"},
        "flows": [{"kind": "cbr", "rate": "12 Mbit/s"}],
    }
    found = outcome(APPS["web"], sj.Scenario.build(full).run())
    [(_, rtt_ms, score)] = found.latency
    assert rtt_ms == pytest.approx(40 + 15, abs=1.5)
    assert score == pytest.approx(100 * (100 - rtt_ms) / 50)
    assert found.loss == pytest.approx(1 / 3, abs=0.001)
    assert (found.loss_score, found.score) == (0, 0)


def test_a_flow_crosses_its_own_links() -> None:
    row = IDLE | {
        "links": [{"name": "second", "rate": "50 Mbit/s", "delay": "30 ms"}],
        "flows": [
            {"kind": "cbr", "rate": "1 Mbit/s"},
            {"kind": "cbr", "rate": "1 Mbit/s", "route": ["link", "second"], "direction": "reverse"},
        ],
    }
    result = sj.Scenario.build(row).run()
    assert path_of(result)[1] == pytest.approx(10)
    names, base_ms = path_of(result, 1)
    assert sorted(names) == ["forward", "reverse", "second", "second reverse"]
    assert base_ms == pytest.approx(70)
    assert outcome(APPS["web"], result, 1).score == pytest.approx(60, abs=0.5)


def test_the_command_prints_scores_and_their_components(cli: Cli, tmp_path: Path) -> None:
    scenario = tmp_path / "idle.json"
    scenario.write_text(json.dumps(IDLE))
    folder = printed_json(cli("run", scenario, "--json"))["folder"]
    own = tmp_path / "own.toml"
    own.write_text(
        'name = "own"\n[[latency]]\npercentile = 50\noptimal = "4 ms"\nunacceptable = "44 ms"\n'
        '[loss]\noptimal = "0%"\nunacceptable = "1%"\n'
    )
    found = printed_json(cli("qoo", folder, "--app", "gaming", "--requirements", own, "--json"))
    assert [one["app"] for one in found["outcomes"]] == ["gaming", "own"]
    last = found["outcomes"][1]
    assert last["qoo"] == pytest.approx(50)
    assert last["latency"] == [
        {
            "percentile": 50,
            "rtt_ms": pytest.approx(24),
            "optimal_ms": 4.0,
            "unacceptable_ms": 44.0,
            "score": pytest.approx(50),
        }
    ]
    assert last["loss"] == {"share": 0, "optimal": 0, "unacceptable": 0.01, "score": 100}
    table = cli("qoo", folder).stdout
    assert all(name in table for name in APPS)
    refused = cli("qoo", folder, "--app", "gamming")
    assert refused.exit_code == 2
    assert 'did you mean "gaming"' in refused.stderr
    assert cli("qoo", folder, "--flows", "1").exit_code == 2


def _requirements(**changes: Any) -> dict[str, Any]:
    latency = {"percentile": 95, "optimal": "50 ms", "unacceptable": "100 ms"}
    return {"latency": [latency | changes], "loss": {"optimal": "0.1%", "unacceptable": "1%"}}


@pytest.mark.parametrize(
    ("document", "error"),
    [
        ({"loss": {}}, "file: [[latency]] is missing; write"),
        (_requirements() | {"loss": 1}, "file: [loss] is missing; write"),
        (_requirements() | {"losses": 1}, 'file: key "losses" is unknown; did you mean "loss"'),
        (_requirements(percentile=101), "file: latency[0].percentile: 101 is not a percentile; write a number above 0"),
        (_requirements(percentile=99.99), "file: latency[0].percentile: 99.99 is too fine; write at most 99.9"),
        (_requirements(optimal="50"), "file: latency[0].optimal: '50' is not a value; write e.g. \"50 ms\""),
        (_requirements(unacceptable="50 ms"), "file: latency[0].unacceptable: 50 ms is not above the optimum"),
        (_requirements() | {"loss": {"optimal": "0.1%"}}, "file: loss.unacceptable: missing; write e.g."),
        (_requirements() | {"loss": {"optimal": 0.1}}, 'file: loss.optimal: 0.1 is not a value; write e.g. "0.1%"'),
    ],
)
def test_invalid_requirements_are_refused_with_their_place(document: dict[str, Any], error: str) -> None:
    with pytest.raises(InputError) as caught:
        read_app(document, "file")
    assert error in str(caught.value)


def test_a_wireless_lan_is_refused() -> None:
    lan = {"duration": "1 s", "wlan": {"stations": [{}]}, "flows": [{"kind": "cbr", "rate": "1 Mbit/s"}]}
    result = sj.Scenario.build(lan).run()
    with pytest.raises(InputError, match="wireless LAN"):
        outcome(APPS["web"], result)
