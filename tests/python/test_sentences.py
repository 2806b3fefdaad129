"""Sentences in Python: results and records as evidence, numbers alone."""

from __future__ import annotations

import json
from math import isnan
from typing import Any

import pytest

import sojourn as sj
from sojourn.base.errors import InputError
from sojourn.studies import sentences


@pytest.fixture(scope="module")
def result() -> sj.Result:
    document = {
        "duration": "20 s",
        "warmup": "auto",
        "link": {"rate": "3 Mbit/s", "aqm": "codel"},
        "flows": [{"kind": "tcp", "count": 2, "rtt": "20 ms"}, {"kind": "voice"}],
    }
    return sj.Scenario.build(document).run(2)


WORDS = ("p99.5(sojourn)", "mean(sojourn)", "goodput(flows.1)", "min(goodput)", "drops", "jain(flows.0)", "target")


def test_a_record_gives_the_numbers_of_its_result(result: sj.Result) -> None:
    bins = {name: column.to_list() for name, column in result.sojourn_bins.to_dict().items()}
    document = json.loads(result.scenario.canonical)
    record = sentences.evidence_of_record(document, json.loads(json.dumps(result.totals)), bins)
    for word in WORDS:
        one = sentences.expression(word, "watch", result.scenario)
        other = sentences.expression(word, "watch", document)
        assert one.value(result) == other.value(record) == one.value(record)
        assert one.unit == other.unit
    without = sentences.evidence_of_record(document, result.totals)
    assert isnan(sentences.expression("p99(sojourn)", "watch", document).value(without))


def test_later_statistics_are_those_of_the_result(result: sj.Result) -> None:
    later = result.since(result.warmup_s + 1)
    assert later.warmup_s > result.warmup_s
    expected: dict[str, Any] = {
        "p99.5(sojourn)": later.sojourn_ms(0.995),
        "mean(sojourn)": later.number("sojourn_mean_ms"),
        "peak(sojourn)": later.number("sojourn_max_ms"),
        "packets(reverse)": later.at("reverse").number("packets"),
        "drops": 100 * (later.number("drop_rate") or 0),
        "goodput(flows.1)": later.group_totals[1]["goodput_bps"] * 1e-6,
        "max(goodput)": max(later.flow_totals["goodput_bps"]) * 1e-6,
        "jain": later.number("jain"),
    }
    for word, value in expected.items():
        found = sentences.expression(word, "watch", result.scenario)
        assert found.value(later) == pytest.approx(value, rel=1e-12)
    assert (
        sentences.expression("packets", "watch", result.scenario).value(later)
        < result.totals["links"]["forward"]["packets"]
    )


def test_groups_with_names() -> None:
    scenario = {
        "link": {"rate": "1 Mbit/s", "delay": "0 s", "aqm": {"name": "codel"}},
        "reverse": {"rate": "1 Mbit/s", "delay": "0 s", "aqm": {"name": "droptail"}},
        "flows": [{"kind": "endpoint", "name": "call", "direction": "forward", "tags": ["rtp"]}],
    }
    source = {"sent": 10, "received": 8, "marked": 2, "loss_rate": 0.2, "delay_ms": {"p99": 31.0}}
    group = {
        "direction": "forward",
        "goodput_bps": 2e6,
        "endpoint": {"name": "call", "source": source | {"tags": {"rtp": source}}, "sink": source},
    }
    run = sentences.evidence_of_record(scenario, {"groups": [group], "flows": []})
    sentence = sentences.parse("p99(delay, call.rtp) <= 31 ms and loss(call) > 19 %", "budget[0].say", [scenario])
    assert sentence.holds([run]) and sentence.groups == {0}
    assert sentence.sides([run]) == [(31.0, 31.0), (20.0, 19.0)]
    assert [one.unit for one in sentence.comparisons] == ["ms", "%"]
    with pytest.raises(
        InputError, match=r'^budget\[0\].say: "p99\(delay, call.rpt\)": tag "rpt" is unknown; did you mean'
    ):
        sentences.parse("p99(delay, call.rpt) < 1 ms", "budget[0].say", [scenario])


@pytest.mark.parametrize(
    "histogram",
    [
        {"link": [0]},
        {"link": [0], "lower_ns": [-1], "upper_ns": [1], "count": [1]},
        {"link": ["x"], "lower_ns": [0], "upper_ns": [1], "count": [1]},
        {"link": [0, 0], "lower_ns": [0], "upper_ns": [1], "count": [1]},
    ],
)
def test_a_damaged_histogram_is_refused(histogram: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"^histogram: "):
        sentences.evidence_of_record({"flows": []}, {}, histogram)
