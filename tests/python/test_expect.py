"""`--expect` of `run` and `compare`: sentences that must be true, with numbers and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sojourn as sj
from conftest import Cli, printed_json
from sojourn.base.errors import InputError

SCENARIO = """
duration = "3 s"
warmup = "1 s"
[link]
rate = "4 Mbit/s"
aqm = "codel"
[[flows]]
kind = "tcp"
rtt = "30 ms"
[[flows]]
kind = "voice"
"""
SHORT = ("--duration", "2s", "--flows", "1", "--rate", "5mbit")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "call.toml"
    path.write_text(SCENARIO)
    return path


def test_a_run_is_judged_after_the_usual_output(cli: Cli, file: Path) -> None:
    true, false = "p99(sojourn) < 20 * target and goodput > 1 Mbit/s", "mean(sojourn, reverse) > 50 ms"
    done = cli("run", file, "--expect", true, "--expect", false, "-o", "out")
    assert done.exit_code == 1
    table, _, verdicts = done.stdout.partition("Results: ")
    assert "Jain index" in table
    lines = verdicts.splitlines()[1:]
    assert lines[0] == f"met     {true}"
    assert lines[1].startswith("        p99(sojourn) = ") and lines[1].endswith("20 * target = 100 ms")
    assert lines[2].startswith("        goodput = ") and lines[2].endswith(" Mbit/s")
    assert lines[3] == f"missed  {false}" and lines[4].startswith("        mean(sojourn, reverse) = ")
    assert cli("run", file, "--expect", true, "-o", "out").exit_code == 0


def test_the_json_of_a_run_has_both_sides(cli: Cli, file: Path) -> None:
    found = printed_json(cli("run", file, "--expect", "utilisation >= 10 %", "-o", "out", "--json"))
    [judged] = found["expected"]
    left = 100 * found["summary"]["links"]["forward"]["utilisation"]
    [comparison] = judged.pop("comparisons")
    assert comparison == {
        "text": "utilisation >= 10 %",
        "unit": "%",
        "left": {"text": "utilisation", "values": [left]},
        "right": {"text": "10 %", "values": [10.0]},
    }
    assert judged == {
        "sentence": "utilisation >= 10 %",
        "load": "",
        "seeds": [1],
        "holds": 1,
        "needed": 1,
        "met": True,
        "worst_seed": 1,
    }
    failed = cli("run", file, "--expect", "p99(completion, flows.0) > 1 ms", "-o", "out", "--json")
    assert failed.exit_code == 1
    [judged] = json.loads(failed.stdout)["expected"]
    assert judged["comparisons"][0]["left"]["values"] == [None], "no transfer has ended"


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("p99(sojourn) < 20", '--expect: "p99(sojourn) < 20": p99(sojourn) is in ms, 20 is a plain number'),
        ("goodput(B) > 1 Mbit/s", '"B" is unknown; expected one of A, codel'),
        ("goodput > 1 Mbit/s in 2", '--expect: "in 2" is not a number of these seeds; write 1 to 1'),
        ("goodput > 1 Mbit/s in 0", '"in 0" is not a number'),
        ("goodput in 1", '"goodput" is neither true nor false'),
    ],
)
def test_a_wrong_sentence_is_refused_before_the_run(cli: Cli, file: Path, sentence: str, message: str) -> None:
    done = cli("run", file, "--expect", sentence, "-o", file.parent / "none")
    assert done.exit_code == 2 and message in done.stderr
    assert not (file.parent / "none").exists()


def test_queue_managers_are_rivals(cli: Cli) -> None:
    sentence = "p99(sojourn, B) < p99(sojourn, A) in 2"
    line = ("compare", "--aqm", "droptail,codel", *SHORT, "--seeds", "3", "-o", "out")
    done = cli(*line, "--expect", sentence)
    assert done.exit_code == 0
    assert f"met     {sentence}: true with 3 of 3 seeds" in done.stdout and ", the worst)" in done.stdout
    failed = cli(*line, "--expect", "goodput(droptail) > 1.2 * goodput(codel)", "--json")
    assert failed.exit_code == 1
    [judged] = json.loads(failed.stdout)["expected"]
    assert (judged["holds"], judged["needed"], judged["seeds"]) == (0, 3, [1, 2, 3])
    rates = [run["summary"]["goodput_bps"] for run in json.loads(failed.stdout)["runs"]]
    assert len(judged["comparisons"][0]["left"]["values"]) == 3 and len(rates) == 6


def test_each_load_is_judged_and_controls_are_rivals_of_one_queue_manager() -> None:
    found = sj.compare(
        "droptail",
        cc=["cubic", "reno"],
        rate=["4 Mbit/s", "9 Mbit/s"],
        flows=1,
        duration="2 s",
        warmup="1 s",
        seeds=2,
        expect=["goodput(cubic) >= 0 * goodput(B)", "link.rate > 5 Mbit/s"],
    )
    judged = [(one.load, one.expectation.text, one.holds) for one in found.judgements]
    assert [load for load, *_ in judged] == ["rate 4 Mbit/s"] * 2 + ["rate 9 Mbit/s"] * 2
    assert [holds for *_, holds in judged] == [2, 0, 2, 2]
    rates = {
        (run.scenario.at("flows.0.cc"), run.scenario.at("link.rate"), run.seed): run.totals["goodput_bps"]
        for run in found.results
    }
    for one in found.judgements[::2]:
        for seed, [(left, _)] in zip(one.seeds, one.sides, strict=True):
            assert left * 1e6 == pytest.approx(rates["cubic", one.load.removeprefix("rate "), seed])


def test_a_test_of_the_upload_is_judged_on_the_upload() -> None:
    found = sj.compare("codel", test="tcp_1up", duration="3 s", expect=["packets > packets(forward)"])
    [judged] = found.judgements
    reverse = found.results[0].number("packets")
    assert judged.sides[0][0][0] == reverse


def test_more_seeds_than_there_are() -> None:
    with pytest.raises(InputError, match=r'"in 9" is not a number of these seeds; write 1 to 2'):
        sj.compare("codel", duration="1 s", seeds=2, expect=["goodput > 1 Mbit/s in 9"])
