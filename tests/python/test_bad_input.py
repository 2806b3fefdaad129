"""Invalid input: an error with place and remedy, exit code 2, and no files written."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import SHORT, Cli, entries

SCENARIO_CASES = {
    "unknown key": ('rate = "10 Mbit/s"', 'rates = "10 Mbit/s"', ["link.rates", 'did you mean "rate"?']),
    "missing unit": ('rate = "10 Mbit/s"', 'rate = "10"', ['link.rate: "10" has no unit', '"10 Mbit/s"']),
    "negative rate": ('rate = "10 Mbit/s"', 'rate = "-10 Mbit/s"', ["link.rate", "negative"]),
    "zero rate": ('rate = "10 Mbit/s"', 'rate = "0 Mbit/s"', ["link.rate", "not above zero"]),
    "unknown AQM": ('aqm = "codel"', 'aqm = "codle"', ["link.aqm", 'did you mean "codel"?']),
    "unknown profile": ('aqm = "codel"', 'aqm = "codel@atc"', ["link.aqm", 'did you mean "act"?']),
    "zero flows": ("count = 2", "count = 0", ["flows[0].count", "from 1"]),
    "negative flows": ("count = 2", "count = -2", ["flows[0].count"]),
    "duration of zero": ('duration = "3 s"', 'duration = "0 s"', ["duration", "not above zero"]),
    "no TOML": ("[link]", "[link", ["line 6"]),
    "rtt twice": ('rtt = "20 ms"', 'rtt = "20 ms"\naccess_delay = "1 ms"', ["flows[0]", "access_delay"]),
    "steps out of order": ('rate = "10 Mbit/s"', 'rate = "1mbit@0s,2mbit@9s,3mbit@5s"', ["link.rate", "in order"]),
    "steps at one time": ('rate = "10 Mbit/s"', 'rate = "1mbit@0s,2mbit@9s,3mbit@9s"', ["link.rate", "two steps"]),
    "loss above 1": ('aqm = "codel"', "loss = 1.5", ["link.loss", "between 0 and 1"]),
    "missing trace": ('rate = "10 Mbit/s"', 'trace = "none.down"', ["link.trace", "none.down"]),
}


@pytest.mark.parametrize("case", SCENARIO_CASES)
def test_bad_scenario(cli: Cli, tmp_path: Path, case: str) -> None:
    old, new, expected = SCENARIO_CASES[case]
    (tmp_path / "bad.toml").write_text(SHORT.replace(old, new, 1))
    _refused(cli("run", "bad.toml", "-o", "out"), tmp_path, ["bad.toml", *expected], {"bad.toml"})


TRACE_CASES = {
    "empty": (b"", ["is empty"]),
    "unsorted": (b"5\n3\n", ["line 2", "sort"]),
    "binary": (bytes(range(256)), ["line 1"]),
    "no number": (b"5\nfive\n", ["line 2"]),
    "negative": (b"-5\n", ["line 1"]),
    "over 50 million lines": (b"1\n" * 50_000_001, ["50"]),
}


@pytest.mark.parametrize("case", TRACE_CASES)
def test_bad_trace(cli: Cli, tmp_path: Path, case: str) -> None:
    text, expected = TRACE_CASES[case]
    (tmp_path / "bad.down").write_bytes(text)
    result = cli("compare", "--aqm", "codel", "--trace", "bad.down", "-o", "out")
    _refused(result, tmp_path, ["link.trace", "bad.down", *expected], {"bad.down"})
    if case == "over 50 million lines":
        assert "50000000" in result.output.replace(",", "").replace("_", "").replace(" million", "000000")


COMPARE_CASES = {
    "unknown AQM": (["--aqm", "droptail,codle"], ['"codle"', 'did you mean "codel"?']),
    "empty name": (["--aqm", "codel,"], ["--aqm", "empty name"]),
    "zero flows": (["--aqm", "codel", "--flows", "0"], ["flows[0].count"]),
    "no unit": (["--aqm", "codel", "--rate", "10"], ["link.rate", "no unit"]),
    "zero duration": (["--aqm", "codel", "--duration", "0s"], ["duration"]),
    "warm-up too long": (["--aqm", "codel", "--duration", "5s", "--warmup", "9s"], ["warmup"]),
    "rate and trace": (["--aqm", "codel", "--rate", "1mbit", "--trace", "x"], ["both a rate and a trace"]),
    "unknown congestion control": (["--aqm", "codel", "--cc", "rno"], ["flows[0].cc", "reno"]),
    "figure format": (["--aqm", "codel", "--plot", "x.gif"], ["x.gif", ".png"]),
    "no seeds": (["--aqm", "codel", "--seeds", "0"], ["--seeds"]),
}


@pytest.mark.parametrize("case", COMPARE_CASES)
def test_bad_comparison(cli: Cli, tmp_path: Path, case: str) -> None:
    args, expected = COMPARE_CASES[case]
    _refused(cli("compare", *args, "-o", "out"), tmp_path, expected, set())


STUDY_CASES = {
    "unknown path": ('"link.rates" = ["1 Mbit/s"]', ["link.rates", 'did you mean "rate"?']),
    "bad value": ('"link.aqm" = ["codel", "codle"]', ['"codle"', 'did you mean "codel"?']),
    "no list": ('"link.aqm" = "codel"', ["sweep.link.aqm", "not a list"]),
    "empty list": ('"link.aqm" = []', ["sweep.link.aqm", "empty list"]),
    "a range without a step": ('"a.b" = { from = 1, to = 2 }', ["sweep.a.b", "not a range", "step"]),
    "a range of two units": ('"a.b" = { from = "1 ms", to = "2 s", step = "1 ms" }', ["sweep.a.b", "units"]),
    "an empty range": ('"a.b" = { from = 2, to = 1, step = 1 }', ["sweep.a.b", "empty range"]),
    "a range with step 0": ('"a.b" = { from = 1, to = 2, step = 0 }', ["sweep.a.b", "empty range"]),
    "a range of words": ('"a.b" = { from = "x", to = 2, step = 1 }', ["sweep.a.b.from", "not a number"]),
    "an endless range": ('"a.b" = { from = 1, to = 1e9, step = 0.1 }', ["sweep.a.b", "larger step"]),
    "a tuple too short": ('"link.aqm, seed" = [["codel"]]', ["sweep.link.aqm, seed", "for each of"]),
    "a key twice in one entry": ('"link.rate, link.rate" = [["1 Mbit/s", "2 Mbit/s"]]', ["sweep.link.rate", "twice"]),
    "a key in two entries": (
        '"link.rate" = ["1 Mbit/s"]\n"seed,link.rate" = [[3, "2 Mbit/s"]]',
        ["sweep.link.rate: is given twice; leave one out"],
    ),
    "too many combinations": (
        '"a.b" = { from = 1, to = 2000, step = 1 }\n"a.c" = { from = 1, to = 2000, step = 1 }',
        ["sweep", "4000000"],
    ),
    "no such flow": ('"flows.3.count" = [1]', ["sweep.flows.3.count", "0 to 0"]),
    "no such table": ('"name.x.y" = [1]', ["sweep.name.x.y"]),
    "bad seeds": ("seeds = 0", ["sweep.seeds"]),
    "a seed twice": ("seeds = [1, 2, 1]", ["sweep.seeds", "twice"]),
    "seeds no numbers": ('seeds = ["a"]', ["sweep.seeds"]),
}


@pytest.mark.parametrize("case", STUDY_CASES)
def test_bad_study(cli: Cli, tmp_path: Path, case: str) -> None:
    line, expected = STUDY_CASES[case]
    (tmp_path / "study.toml").write_text(f"{SHORT}[sweep]\n{line}\n")
    _refused(cli("sweep", "study.toml", "-o", "out"), tmp_path, ["study.toml", *expected], {"study.toml"})


EXTENDS_CASES = {
    "missing": ('"none.toml"', ["none.toml", "No such file"]),
    "itself": ('"study.toml"', ["extends", "itself"]),
    "no name": ("3", ["extends", "name of a file"]),
    "no name that a file can have": (r'"\u0000"', ["not a file name"]),
}


@pytest.mark.parametrize("case", EXTENDS_CASES)
def test_bad_extension(cli: Cli, tmp_path: Path, case: str) -> None:
    text, expected = EXTENDS_CASES[case]
    (tmp_path / "study.toml").write_text(f"extends = {text}\n")
    _refused(cli("sweep", "study.toml", "-o", "out"), tmp_path, ["study.toml", *expected], {"study.toml"})


def test_seeds_outside_the_sweep_are_pointed_at(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f"seeds = 3\n{SHORT}[sweep]\n")
    _refused(cli("sweep", "study.toml", "-o", "out"), tmp_path, ["seeds", "[sweep]"], {"study.toml"})


FILE_CASES = {
    "missing scenario": (["run", "none.toml"], ["none.toml", "No such file"]),
    "folder as scenario": (["run", "."], ["not a result", "no manifest.json"]),
    "missing study": (["sweep", "none.toml"], ["none.toml"]),
    "missing result": (["plot", "cdf", "none"], ["none", "no such result folder"]),
    "name of a module": (["labs", "1"], ['did you mean "lab"?', "python -m sojourn.labs"]),
    "unknown engine": (["run", "x.toml", "--engine", "simulat"], ['did you mean "simulate"?']),
    "other separators": (["aqm", "show", "FQ-CoDel"], ['did you mean "fq_codel"?']),
    "unknown paper": (["reproduce", "schwarzkopf"], ['did you mean "schwarzkopf2016"?']),
    "unknown figure": (["reproduce", "khademi2013", "--figure", "overal"], ['did you mean "overall"?']),
    "figure without paper": (["reproduce", "--figure", "table1"], ["PAPER"]),
    "unknown AQM": (["aqm", "show", "codle"], ['did you mean "codel"?']),
    "unknown command": (["comapre"], ["comapre"]),
}


@pytest.mark.parametrize("case", FILE_CASES)
def test_bad_argument(cli: Cli, tmp_path: Path, case: str) -> None:
    args, expected = FILE_CASES[case]
    _refused(cli(*args), tmp_path, expected, set())


def test_text_that_is_not_utf8(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"name = '\xff'")
    _refused(cli("run", "bad.toml", "-o", "out"), tmp_path, ["bad.toml", "UTF-8"], {"bad.toml"})


def _refused(result: object, folder: Path, expected: list[str], files: set[str]) -> None:
    """Exit code 2, all expected texts in the error, no traceback, and no files except the given ones."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    for text in expected:
        assert text in result.stderr, result.stderr
    assert "Traceback" not in result.stderr
    assert entries(folder) == files
