"""`sojourn fit`: fitted values, their identifiability, and held-out data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Cli, printed_json
from sojourn.base.errors import InputError
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.fitting.coverage import coverage
from sojourn.studies.fitting.data import Data, data_of, hold_out
from sojourn.studies.fitting.fit import FitResult, fit
from sojourn.studies.fitting.report import report, sentences
from sojourn.studies.fitting.search import Simulate
from sojourn.studies.fitting.space import Choice, Range, free_key, space_of
from sojourn.studies.fitting.study import groups_of, simulator, value_of
from sojourn.studies.runs.runner import Runner

LINE = """
name = "line"
duration = "10 s"
warmup = "1 s"
link = { rate = "5 Mbit/s", aqm = "codel" }
flows = [{ kind = "tcp", count = 2, spread = "1 s" }]
"""
WORDS = ("goodput", "mean", "p95", "drops", "utilisation")


def _made_up(numbers: int, slope: Any, noise: float, *, free: Mapping[str, str], truth: Sequence[float]) -> Any:
    """Data and a simulator with metrics linear in the keys' positions, plus normal noise drawn by the seed."""
    space = space_of(free)

    def level(sets: Mapping[str, Any]) -> np.ndarray[Any, Any]:
        places = [one.place(float(str(sets[one.path]).split()[0])) for one in space.ranges]
        return 50 + np.asarray(slope) @ np.array(places)

    def simulate(points: Sequence[tuple[Mapping[str, Any], Sequence[int]]]) -> list[np.ndarray[Any, Any]]:
        return [
            np.array([level(sets) + np.random.default_rng([seed, 7]).normal(0, noise, numbers) for seed in seeds])
            for sets, seeds in points
        ]

    def data(seed: int) -> Data:
        measured = simulate([(space.sets(tuple(truth)), [seed])])[0][0]
        tables = [
            {"metric": "p50", "value": float(value), "set": {"seed": place}} for place, value in enumerate(measured)
        ]
        return data_of({"free": dict(free), "measured": tables})

    return data, simulate


def _fitted(data: Data, simulate: Simulate, seed: int = 1) -> FitResult:
    return fit(data, {}, groups_of(data), simulate, seed=seed)


TWO = {"a": "1..100 s", "b": "1..100 s"}


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """With the assumed noise the coverage is 95 %: 44 to 50 of 50 intervals, for all keys."""
    data, simulate = _made_up(4, [[3, 1], [1, 2], [0, 1], [2, -1]], 0.2, free=TWO, truth=(10.0, 30.0))
    covered = 0
    for seed in range(25):
        found = _fitted(data(900_000 + seed), simulate, seed + 2)
        for key, (about, truth) in enumerate(zip(found.profiles, (10.0, 30.0), strict=True)):
            place = Range("a", 1, 100).place(truth)
            assert about.width < 0.8, key
            covered += about.low <= place <= about.high
    assert 44 <= covered <= 50


def test_a_sum_of_two_keys_does_not_determine_them() -> None:
    data, simulate = _made_up(3, [[2, 2], [1, 1], [-1, -1]], 0.02, free=TWO, truth=(10.0, 10.0))
    reported = report(given := data(900_000), [_fitted(given, simulate)], simulate)
    assert reported["tied"] == [["a", "b"]]
    assert any("a and b cannot be told apart" in one for one in sentences(reported))
    assert all(key["high"] / key["low"] > 10 for key in reported["keys"])


def test_a_valley_that_bends_is_walked_to_both_ends() -> None:
    """Only the sum of two keys on logarithmic ranges matters: the points with sum 30 form a curve."""
    space = space_of(TWO)

    def simulate(points: Sequence[tuple[Mapping[str, Any], Sequence[int]]]) -> list[np.ndarray[Any, Any]]:
        sums = [sum(float(str(sets[one]).split()[0]) for one in TWO) for sets, _ in points]
        slopes = np.array([1.0, 0.5, -0.7])
        return [
            np.array([50 + slopes * total + np.random.default_rng([seed, 7]).normal(0, 1.5, 3) for seed in seeds])
            for total, (_, seeds) in zip(sums, points, strict=True)
        ]

    told_apart = 0
    for seed in range(5):
        [runs] = simulate([(space.sets((8.0, 22.0)), range(900_000 + 50 * seed, 900_030 + 50 * seed))])
        tables = [
            {"metric": "p50", "value": float(value), "band": 1.0, "set": {"seed": place}}
            for place, value in enumerate(runs.mean(axis=0))
        ]
        reported = report(
            given := data_of({"free": TWO, "measured": tables}), [_fitted(given, simulate, seed + 1)], simulate
        )
        told_apart += reported["tied"] != [["a", "b"]]
        for key, truth in zip(reported["keys"], (8.0, 22.0), strict=True):
            assert key["low"] <= 2.0 and 25 <= key["high"] <= 33, key
            assert key["low"] <= truth <= key["high"]
    assert told_apart == 0


def test_a_key_that_changes_nothing_is_not_determined() -> None:
    data, simulate = _made_up(3, [[2, 0], [1, 0], [-1, 0]], 0.02, free=TWO, truth=(10.0, 10.0))
    reported = report(given := data(900_000), [_fitted(given, simulate)], simulate)
    assert [key["state"] for key in reported["keys"]] == ["determined", "not determined"]
    assert reported["tied"] == []
    assert any("b is not determined: the numbers allow all of 1 to 100 s" in one for one in sentences(reported))
    assert reported["degrees_of_freedom"] == 2


def test_a_value_at_the_end_of_its_range_is_bounded_on_one_side() -> None:
    data, simulate = _made_up(3, [[2], [1], [-1]], 0.05, free={"a": "1..100 s"}, truth=(100.0,))
    reported = report(given := data(900_001), [_fitted(given, simulate)], simulate)
    [key] = reported["keys"]
    assert key["state"] == "bounded below" and key["high"] == 100.0 and key["low"] > 50


def test_unexplained_numbers_are_reported() -> None:
    data, simulate = _made_up(3, [[2], [1], [-1]], 0.02, free={"a": "1..100 s"}, truth=(10.0,))
    given = data(900_000)
    far = Data(
        given.space, (*given.numbers[:2], *(type(one)(**{**vars(one), "value": 60.0}) for one in given.numbers[2:]))
    )
    reported = report(far, [_fitted(far, simulate)], simulate)
    assert not reported["explained"] and reported["p"] < 1e-6
    assert any("does not explain" in one for one in sentences(reported))


def test_held_out_numbers_catch_a_fit_that_only_follows() -> None:
    """Two keys fit any two metrics; the third one shows whether the scenario is right."""
    data, simulate = _made_up(3, [[2, 0], [0, 2], [1, 1]], 0.05, free=TWO, truth=(10.0, 10.0))
    right = data(900_000)
    numbers = (*right.numbers[:2], type(right.numbers[2])(**{**vars(right.numbers[2]), "value": 53.0}))
    for given, overfitted in ((right, False), (Data(right.space, numbers), True)):
        held = Data(given.space, given.numbers, frozenset((2,)))
        reported = report(held, [_fitted(held, simulate)], simulate)
        assert reported["hold_out"]["overfitted"] == overfitted
        assert [one["held_out"] for one in reported["numbers"]] == [False, False, True]
        assert abs(reported["numbers"][2]["residual"]) > 4 or not overfitted
        assert any("does not predict" in one for one in sentences(reported)) == overfitted


def test_coverage_counts_the_intervals_of_every_key() -> None:
    data, simulate = _made_up(3, [[3], [1], [2]], 0.2, free={"a": "1..100 s"}, truth=(10.0,))
    given = data(900_000)
    reported = coverage(given, {}, (10.0,), groups_of(given), simulate, 20)
    assert reported["trials"] == 20
    [key] = reported["keys"]
    assert 17 <= key["covered"] <= 20
    assert 0 < key["half_width_median"] <= key["half_width_most"] < 1


def test_coverage_at_zero_is_a_share_of_the_range() -> None:
    data, simulate = _made_up(3, [[3], [1], [2]], 0.2, free={"a": "0..100 s"}, truth=(0.0,))
    given = data(900_000)
    [key] = coverage(given, {}, (0.0,), groups_of(given), simulate, 3)["keys"]
    assert 0 < key["half_width_most"] < 1


def _measured(scenario: str, sets: Mapping[str, str], seeds: Sequence[int], *words: str) -> list[dict[str, Any]]:
    """Mean metrics of the runs."""
    results = [Scenario.parse(scenario, sets).run(seed) for seed in seeds]
    table = [{"metric": word, "value": 0.0} for word in words or WORDS]
    numbers = data_of({"free": {"x": "1..2"}, "measured": table}).numbers
    means = [float(np.mean([value_of(result, number) for result in results])) for number in numbers]
    return [{"metric": number.metric, "value": mean} for number, mean in zip(numbers, means, strict=True)]


def _simulated(data: Data, scenario: str = LINE) -> Simulate:
    return simulator(data, lambda sets: Scenario.parse(scenario, sets), Runner(None, progress=False))


def test_rate_and_round_trip_time_are_found_again() -> None:
    """From single runs of ten seconds, in which the RTT is only known within 10 or 20 %."""
    covered = []
    for seed in (77, 78, 79, 80):
        measured = _measured(LINE, {"link.rate": "7.3 Mbit/s", "flows.0.rtt": "63 ms"}, [seed])
        data = data_of({"free": {"link.rate": "1..50 Mbit/s", "flows.0.rtt": "5..200 ms"}, "measured": measured})
        reported = report(data, [_fitted(data, simulate := _simulated(data))], simulate)
        rate, rtt = reported["keys"]
        assert rate["value"] == pytest.approx(7.3, rel=0.01)
        assert rtt["value"] == pytest.approx(63, rel=0.25)
        covered += [one["low"] < truth < one["high"] for one, truth in ((rate, 7.3), (rtt, 63.0))]
        assert reported["explained"] and reported["tied"] == []
        assert all(abs(one["residual"]) < 3 for one in reported["numbers"])
    assert sum(covered) >= 7


def test_two_delays_on_one_path_are_tied() -> None:
    """The intervals contain the true delays, and the fit reports the tie for each band.

    For a single Reno flow over a short queue, and for the means of ten runs.
    """
    line = LINE.replace('aqm = "codel"', 'limit = "12 packets"')
    line = line.replace("count = 2", 'cc = "reno"')
    sets = {"link.delay": "10 ms", "flows.0.access_delay": "15 ms"}
    measured = _measured(line, sets, range(60, 70), "goodput", "mean", "drops")
    ties = []
    simulate = None
    for band in (0.02, 0.05):
        tables = [{**one, "band": band * abs(one["value"])} for one in measured]
        data = data_of({"free": {"link.delay": "1..40 ms", "flows.0.access_delay": "1..40 ms"}, "measured": tables})
        simulate = simulate or _simulated(data, line)  # the runs at equal points are equal
        reported = report(data, [_fitted(data, simulate)], simulate)
        ties += reported["tied"]
        keys = {one["key"]: one for one in reported["keys"]}
        for key, truth in sets.items():
            assert keys[key]["low"] < float(truth.removesuffix(" ms")) < keys[key]["high"], (band, key)
    assert ties == [["flows.0.access_delay", "link.delay"]] * 2


SCENARIO_AND_DATA = (
    '[free]\n"link.rate" = "2..20 Mbit/s"\n"link.aqm" = ["codel", "droptail"]\n'
    '[[measured]]\nmetric = "goodput"\nvalue = 4.71\n[[measured]]\nmetric = "mean"\nvalue = "5.9 ms"\nband = "20%"\n'
    '[[quantiles]]\nband = "1 ms"\nsojourn = { "50%" = 5.0, "90%" = 11.2 }\n'
)


def test_the_command_distinguishes_choices_and_resumes(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "line.toml").write_text(LINE)
    (tmp_path / "data.toml").write_text(SCENARIO_AND_DATA)
    command = ("fit", "line.toml", "data.toml", "--set", "flows.0.rtt=40 ms", "--set", "duration=4 s", "-o", "out")
    reported = json.loads((first := cli(*command, "--json")).stdout)
    assert reported["best"]["link.aqm"] == "codel"
    assert [one["excluded"] for one in reported["choices"]] == [False, True]
    assert [one["number"] for one in reported["numbers"]][2:] == ["sojourn 50%", "sojourn 90%"]
    assert reported["computed"] > 50
    assert json.loads(Path(reported["file"]).read_text())["best"] == reported["best"]
    again = cli(*command)
    assert again.exit_code == first.exit_code == (0 if reported["explained"] else 1)
    assert "0 runs computed" in again.output
    assert "link.rate" in again.output and "determined" in again.output


def test_free_keys_are_ranges_or_choices() -> None:
    assert free_key("k", "1..100 Mbit/s") == free_key("k", "1 Mbit/s..100 Mbit/s") == Range("k", 1, 100, "Mbit/s")
    assert free_key("k", "1..64") == Range("k", 1, 64, whole=True)
    assert free_key("k", "0..0.5") == Range("k", 0, 0.5)
    assert free_key("k", "codel, pie") == free_key("k", ["codel", "pie"]) == Choice("k", ("codel", "pie"))
    about = Range("k", 1, 100, "ms")
    assert [about.at(place) for place in (0, 0.5, 1)] == [1, 10, 100]
    assert about.written(12.5) == "12.5 ms"
    assert Range("k", 1, 64, whole=True).written(Range("k", 1, 64, whole=True).at(0.5)) == 8


NUMBER = '[[measured]]\nmetric = "goodput"\nvalue = 9.4\n'
FREE = '[free]\n"link.rate" = "1..100 Mbit/s"\n'
BAD = {
    "no range": ('[free]\n"link.aqm" = ["codel", "pie"]\n' + NUMBER, ["no range"]),
    "units": ('[free]\n"link.rate" = "1 kbit/s..2 Mbit/s"\n' + NUMBER, ["link.rate", "different units"]),
    "upside down": ('[free]\n"link.rate" = "2..1 Mbit/s"\n' + NUMBER, ["empty range"]),
    "not free": ('[free]\n"link.rate" = 3\n' + NUMBER, ["link.rate", "neither a range nor a choice"]),
    "no number": (FREE, ["measured: missing"]),
    "unknown metric": (FREE + '[[measured]]\nmetric = "goodputt"\nvalue = 1\n', ["goodputt", "did you mean"]),
    "unknown key": (FREE + NUMBER + "bands = 1\n", ["bands", 'did you mean "band"']),
    "unit": (FREE + '[[measured]]\nmetric = "mean"\nvalue = "5 s"\n', ["measured.0.value", "ms"]),
    "band": (FREE + NUMBER + "band = 0\n", ["band", "above zero"]),
    "both": (FREE + NUMBER + "band = 1\ninterval = [9, 10]\n", ["leave one out"]),
    "runs": (FREE + NUMBER + "band = 1\nruns = 2\n", ["runs"]),
    "free and set": (FREE + NUMBER + 'set = { "link.rate" = "5 Mbit/s" }\n', ["link.rate", "which is also in [free]"]),
    "twice": (FREE + NUMBER + NUMBER, ["twice"]),
    "no link": (FREE + NUMBER + 'link = "backward"\n', ["backward"]),
    "no key": ('[free]\n"link.speed" = "1..2 Mbit/s"\n' + NUMBER, ["speed"]),
    "quantile": (FREE + '[[quantiles]]\nsojourn = { "100%" = 3 }\n', ["100%"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data(cli: Cli, tmp_path: Path, case: str) -> None:
    text, words = BAD[case]
    (tmp_path / "line.toml").write_text(LINE)
    (tmp_path / "data.toml").write_text(text)
    result = cli("fit", "line.toml", "data.toml", "-o", "out")
    assert result.exit_code == 2, result.output
    assert all(word in result.stderr for word in words), result.stderr
    # On a busy machine the runs for the diagnosis take long enough for a line of progress.
    assert len([line for line in result.stderr.strip().splitlines() if not line.endswith(" left")]) == 1


def test_too_much_held_out_is_refused() -> None:
    data = data_of({"free": {"k": "1..2"}, "measured": [{"metric": "p50", "value": 1}, {"metric": "p95", "value": 2}]})
    assert hold_out(data, 0.3) == hold_out(data, 0.5)
    assert len(hold_out(data, 0.3).held_out) == 1
    with pytest.raises(InputError, match="leave 0 to fit"):
        hold_out(data, 0.9)


def test_the_schema_of_the_printed_result(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "line.toml").write_text(LINE)
    (tmp_path / "data.toml").write_text(FREE.replace("1..100", "3..9") + NUMBER.replace("9.4", "4.7"))
    reported = printed_json(cli("fit", "line.toml", "data.toml", "--trials", "2", "-o", "out", "--json"))
    [key] = reported["keys"]
    assert key["low"] < key["value"] < key["high"] and key["profile"]
    assert reported["p"] is None and reported["degrees_of_freedom"] == 0
    assert reported["coverage"]["trials"] == 2
