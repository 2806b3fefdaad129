"""`sojourn hunt`: the condition, the search, the simplification, the proof, and the files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, isnan, log
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, printed_json
from sojourn.base.errors import InputError, MissingError
from sojourn.base.inputs import parse_toml
from sojourn.model.scenarios.draw import NumberRange
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.hunting.hunt import hunt, prove
from sojourn.studies.hunting.search import ROUND, Cube, Search
from sojourn.studies.hunting.shrink import Shrinker, rounder
from sojourn.studies.hunting.space import Point, Space, seeds_from, words_of
from sojourn.studies.hunting.trials import Trials
from sojourn.studies.runs.runner import Runner
from sojourn.studies.sentences import Sentence, parse

SPACE = """
duration = "3 s"
warmup = "1 s"
[link]
aqm = "codel"
[[flows]]
kind = "tcp"
[[flows]]
kind = "voice"
[draw]
"link.limit" = { log_uniform = ["20 packets", "300 packets"] }
"link.aqm.target" = { choice = ["5 ms", "20 ms"] }
"flows.0.count" = { log_uniform = [1, 20] }
"flows.0.rtt" = { log_uniform = ["3 ms", "90 ms"] }
"flows.0.ecn" = { choice = [false, true] }
"flows.1.rate" = { uniform = ["10 kbit/s", "80 kbit/s"] }
[draw."link.*"]
choice = [
  { rate = { log_uniform = ["1 Mbit/s", "7 Mbit/s"] } },
  { rate.write = "{one}@0s,{two}@2s", rate.one.uniform = [1, 7], rate.two.uniform = [1, 7] },
]
""".replace("[1, 7]", '["1 Mbit/s", "7 Mbit/s"]')


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SPACE)
    return path


def _runs(aqms: Sequence[str]) -> list[Any]:
    text = 'duration = "3 s"\nwarmup = "1 s"\n[link]\nrate = "3.7 Mbit/s"\naqm = "codel"\n'
    text += '[[flows]]\nkind = "web"\ninterval = "70 ms"\nsize = "9 kB"\n'
    text += '[[flows]]\nkind = "tcp"\ncount = 3\nrtt = "23 ms"\nspread = "1 s"\n[[flows]]\nkind = "voice"\n'
    return [Scenario.parse(text, {"link.aqm": aqm}).run(3) for aqm in aqms]


@pytest.fixture(scope="module")
def pair() -> list[Any]:
    return _runs(["codel target 7ms", "pie@linux"])


def _sentence(text: str, pair: Sequence[Any]) -> Sentence:
    return parse(text, "--where", [result.scenario for result in pair])


def _value(text: str, pair: Sequence[Any]) -> float:
    return _sentence(f"{text} > 0 * ({text})", pair).sides(pair)[0][0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("goodput", lambda a, _b: a.totals["goodput_bps"] / 1e6),
        ("goodput(B)", lambda _a, b: b.totals["goodput_bps"] / 1e6),
        ("goodput(flows.1, B)", lambda _a, b: b.totals["groups"][1]["goodput_bps"] / 1e6),
        ("utilisation", lambda a, _b: 100 * a.totals["links"]["forward"]["utilisation"]),
        ("utilisation(reverse)", lambda a, _b: 100 * a.totals["links"]["reverse"]["utilisation"]),
        ("drops(B)", lambda _a, b: 100 * b.totals["links"]["forward"]["drop_rate"]),
        ("mean(sojourn)", lambda a, _b: a.totals["links"]["forward"]["sojourn_ms"]["mean"]),
        ("peak(sojourn, B)", lambda _a, b: b.totals["links"]["forward"]["sojourn_ms"]["max"]),
        ("p99(sojourn)", lambda a, _b: a.totals["links"]["forward"]["sojourn_ms"]["p99"]),
        ("p95(completion, flows.0)", lambda a, _b: a.totals["groups"][0]["completion_ms"]["p95"]),
        ("mos(flows.2)", lambda a, _b: a.totals["groups"][2]["mos"]),
        ("min(goodput, flows.1)", lambda a, _b: min(flow["goodput_bps"] for flow in a.totals["flows"][:3]) / 1e6),
        ("max(goodput)", lambda a, _b: max(flow["goodput_bps"] for flow in a.totals["flows"]) / 1e6),
        ("target", lambda _a, _b: 7.0),
        ("target(B)", lambda _a, _b: 15.0),
        ("link.rate", lambda _a, _b: 3.7),
        ("flows.1.count", lambda _a, _b: 3.0),
        ("flows.1.rtt", lambda _a, _b: 23.0),
        ("(1500 B)", lambda _a, _b: 1500.0),
        ("(3 kbit/s)", lambda _a, _b: 0.003),
        ("(2 s)", lambda _a, _b: 2000.0),
        ("-(10 ms) + 2 * (6 ms) / 3", lambda _a, _b: -6.0),
    ],
)
def test_values_in_claims_equal_those_of_results(
    text: str, expected: Callable[[Any, Any], float], pair: list[Any]
) -> None:
    assert _value(text, pair) == pytest.approx(expected(*pair), rel=1e-3)


def test_quantiles_may_be_fine(pair: list[Any]) -> None:
    found = pair[0].histogram.filter(link="forward")
    shares = found["count"].cum_sum() / found["count"].sum()
    reached = found.filter(shares >= 0.999)
    assert reached["lower_ms"][0] <= _value("p99.9(sojourn)", pair) <= reached["upper_ms"][0]


def test_fairness_of_a_group_leaves_the_others_out(pair: list[Any]) -> None:
    rates = [flow["goodput_bps"] for flow in pair[0].totals["flows"]]
    assert len(rates) == 4
    assert _value("jain(flows.1)", pair) == pytest.approx(sum(rates[:3]) ** 2 / 3 / sum(rate**2 for rate in rates[:3]))
    assert _value("jain", pair) == pytest.approx(pair[0].totals["jain"]) == _value("jain(flows.1)", pair)
    assert isnan(_value("jain(flows.0)", pair)), "pages share with nobody"


def test_the_margin_is_the_logarithm_of_the_ratio(pair: list[Any]) -> None:
    ratio = pair[1].totals["goodput_bps"] / pair[0].totals["goodput_bps"]
    assert _sentence("goodput(B) > 0.8 * goodput(A)", pair).margin(pair) == pytest.approx(log(ratio / 0.8))
    assert _sentence("goodput(B) < 0.8 * goodput(A)", pair).margin(pair) == pytest.approx(-log(ratio / 0.8))
    both = "goodput(B) > 0.8 * goodput(A) and 1 ms > 2 ms"
    assert _sentence(both, pair).margin(pair) == pytest.approx(log(0.5))
    assert _sentence(both.replace("and", "or"), pair).margin(pair) == pytest.approx(log(ratio / 0.8))
    assert _sentence("not 1 ms > 2 ms", pair).margin(pair) == pytest.approx(log(2))
    assert _sentence("1 ms < 2 ms < 8 ms", pair).margin(pair) == pytest.approx(log(2))
    assert _sentence("marks > 0 %", pair).margin(pair) < 0 < _sentence("marks >= 0 %", pair).margin(pair)
    assert _sentence("mean(completion, flows.1) > 1 ms", pair).margin(pair) == -inf


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", '"" is not a condition'),
        ("p99(sojourn) >", "is not a condition"),
        ("p99(sojourn)", "is neither true nor false"),
        ("p99(sojourn) == 5 ms", "compare with >, >=, < or <="),
        ("p99(sojourn) > 50", "p99(sojourn) is in ms, 50 is a plain number; write both in one unit"),
        ("p99(sojourn) > 5 kB", "write both in one unit"),
        ("goodput * target > 5 ms", "Mbit/s * ms is not a supported unit"),
        ("p99 > 5 ms", '"p99" needs a metric'),
        ("min(sojourn) > 5 ms", "minimum sojourn time is that of an empty queue"),
        ("p99(sojourn, flows.0) > 5 ms", "flows.0 has no effect there"),
        ("goodput(flows.7) > 1 Mbit/s", "no flows.7; number the groups from 0"),
        ("goodput(C) > 1 Mbit/s", '"C" is unknown; expected one of A, B'),
        ("goodput(A, B) > 1 Mbit/s", "names two of the same kind"),
        ("targt > 5 ms", 'did you mean "target"?'),
        ("version > 5 ms", "version of codel target 7ms is not a number"),
        ("flows.0.nothing > 3", '"flows.0.nothing" is not a numeric key'),
        ("flows.0.kind > 3", '"flows.0.kind" is not a numeric key'),
        ("mos > 3", '"mos" needs a flow group'),
        ("p42(completion, flows.0) > 3 ms", "completion times support only mean, p10"),
        ("__import__('os') > 3", "is not a name"),
        ("[1][0] > 3", "is not a number"),
        ("'a' > 3", "is not a number"),
    ],
)
def test_a_wrong_condition_is_refused(text: str, message: str, pair: list[Any]) -> None:
    with pytest.raises(InputError) as caught:
        _sentence(text, pair)
    assert message in str(caught.value) and "--where" in str(caught.value)


class MadeUp(Trials):
    """Trials with a margin computed from the point instead of a run."""

    def __init__(self, space: Space, margin: Callable[[Space, Point, int], float]) -> None:
        super().__init__(space, parse("goodput > 1 Mbit/s", "--where", words_of(space)), Runner(progress=False))
        self.margin = margin

    def margins(self, requests: Sequence[tuple[Point, int]]) -> list[float]:
        return [self.margin(self.space, point, seed) for point, seed in requests]


def _distance(space: Space, point: Point, _seed: int) -> float:
    """Positive in a ball around one corner of the space, which few random points hit."""
    paths = space.paths(point)
    rtt, count = float(paths["flows.0.rtt"].split()[0]), paths["flows.0.count"]
    far = (log(rtt / 70) / log(30)) ** 2 + (log(count / 15) / log(20)) ** 2
    far += (float(paths["flows.1.rate"].split()[0]) / 70 - 0.6) ** 2 + (paths["flows.0.ecn"] is False) * 0.05
    return 0.012 - far


def test_the_local_search_finds_points_missed_by_random_search(file: Path) -> None:
    space = Space.load(file, ["codel"], {})
    by_seed = []
    for seed in (1, 2, 3, 4):
        found = Search(MadeUp(space, _distance), seed, 1500).run()
        blind = Search(MadeUp(space, _distance), seed, 1500, local=False).run()
        assert found and _distance(space, found.point, 0) > 0
        by_seed.append((found.evaluations, blind.evaluations if blind else 1500))
    assert sum(one for one, _ in by_seed) < 0.7 * sum(other for _, other in by_seed)


def test_a_search_depends_on_its_seed_alone(file: Path) -> None:
    space = Space.load(file, ["codel"], {})
    found = [Search(MadeUp(space, _distance), seed, 1500).run() for seed in (5, 5, 6)]
    assert found[0] == found[1] != found[2]


def test_a_strategy_without_its_package(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = Space.load(file, ["codel"], {})
    monkeypatch.setattr("sojourn.studies.hunting.search.find_spec", lambda _name: None)
    with pytest.raises(MissingError, match=r"cmaes, which is missing; install it: pip install 'sojourn\[hunt\]'"):
        Search(MadeUp(space, _distance), 3, 90)
    assert Search(MadeUp(space, _distance), 3, 90, local=False).run() is None


def test_claims_true_for_one_seed_only_are_not_found(file: Path) -> None:
    space = Space.load(file, ["codel"], {})
    lucky = seeds_from(1, "point 3", 1)[0]
    search = Search(MadeUp(space, lambda _space, _point, seed: 1.0 if seed == lucky else -1.0), 1, 200)
    assert search.run() is None
    assert search.best and search.best[0] == 1.0 and 200 <= search.evaluations <= 220


def test_places_and_coordinates_are_inverse(file: Path) -> None:
    space = Space.load(file, ["codel"], {})
    cube = Cube(space)
    for seed in range(1, 40):
        assert space.at(cube.places(cube.of(space.places(seed)).tolist())) == space.drawn(seed)


def test_a_point_equals_the_output_of_scenario_draw(file: Path, cli: Cli) -> None:
    space = Space.load(file, ["codel"], {})
    for seed in (3, 4, 5):
        done = cli("scenario", "draw", file, "--seed", seed)
        assert done.exit_code == 0
        drawn = parse_toml(done.stdout)
        assert drawn.pop("seed") == seed
        for flow in drawn["flows"]:
            flow.setdefault("spread", "1 s")
        written, _ = space.written(space.drawn(seed))
        assert written["link"]["rate"] == drawn["link"]["rate"] and written["flows"] == drawn["flows"]


def test_a_parameter_that_a_queue_manager_lacks_is_left_out(file: Path) -> None:
    space = Space.load(file, ["codel", "droptail"], {})
    point = space.drawn(1)
    assert space.scenario(point, 0).at("link.aqm.target") in ("5 ms", "20 ms")
    assert space.scenario(point, 1).aqm == "droptail"


def _simplest(file: Path, needed: Callable[[dict[str, Any]], bool], groups: frozenset[int] = frozenset()) -> Any:
    """Simplify a point for a condition that needs `needed` of the scenario."""
    space = Space.load(file, ["codel"], {})

    def margin(space: Space, point: Point, _seed: int) -> float:
        try:
            return 1.0 if needed(space.scenario(point).document) else -1.0
        except InputError:
            return -inf

    shrink = Shrinker(MadeUp(space, margin), [1, 2, 3, 4], groups)
    start = next(
        point for point in map(space.drawn, range(1, 500)) if margin(space, point, 0) > 0 and "@" in _rate(space, point)
    )
    point = shrink.run(start)
    assert shrink.done
    return space.scenario(point).document


def _rate(space: Space, point: Point) -> str:
    return str(space.paths(point)["link.rate"])


def test_unneeded_keys_are_removed(file: Path) -> None:
    left = _simplest(file, lambda document: document["flows"][0]["count"] >= 6)
    assert [flow["kind"] for flow in left["flows"]] == ["tcp"]
    assert (
        left["flows"][0]["count"] == 6
        and left["flows"][0]["access_delay"] == "0 s"
        and left["flows"][0]["ecn"] is False
    )
    assert left["link"]["limit"] == "1000 packets" and "@" not in left["link"]["rate"]
    assert len(left["link"]["rate"].split()[0]) == 1  # one digit
    assert left["duration"] == "1.7 s"


def test_needed_keys_are_kept(file: Path) -> None:
    def needed(document: dict[str, Any]) -> bool:
        kinds = [flow["kind"] for flow in document["flows"]]
        is_far = document["flows"][0]["access_delay"] != "0 s"
        return "@" in document["link"]["rate"] and is_far and len(kinds) == 2 and document["duration"] == "3 s"

    left = _simplest(file, needed)
    assert "@" in left["link"]["rate"] and len(left["flows"]) == 2 and left["duration"] == "3 s"
    assert left["flows"][0]["count"] == 1


def test_groups_that_the_condition_names_stay(file: Path) -> None:
    left = _simplest(file, lambda _document: True, frozenset({1}))
    assert [flow["kind"] for flow in left["flows"]] == ["tcp", "voice"]


@pytest.mark.parametrize(
    ("value", "digits", "rounded"),
    [
        ("12.7344 Mbit/s", 1, ["10 Mbit/s", "20 Mbit/s"]),
        ("12.7344 Mbit/s", 2, ["13 Mbit/s", "12 Mbit/s"]),
        ("0.0126515 Mbit/s", 1, ["0.01 Mbit/s", "0.02 Mbit/s"]),
        ("786 packets", 2, ["790 packets", "780 packets"]),
        ("20 ms", 1, []),
        (64, 1, [60, 70]),
        (0.25, 1, [0.2, 0.3]),
    ],
)
def test_rounder_values(value: Any, digits: int, rounded: Any) -> None:
    assert rounder(value, digits) == rounded


def test_runs_that_are_the_same_prove_nothing(file: Path) -> None:
    fixed = file.with_name("fixed.toml")
    fixed.write_text(
        SPACE.replace('kind = "tcp"', 'kind = "tcp"\nspread = "0 s"')
        .replace('[[flows]]\nkind = "voice"', "")
        .replace('"flows.1.rate" = { uniform = ["10 kbit/s", "80 kbit/s"] }', "")
    )
    space = Space.load(fixed, ["codel"], {})
    meant = parse("goodput > 0.1 Mbit/s", "--where", words_of(space))
    alike = prove(Trials(space, meant, Runner(progress=False)), meant, space.drawn(2), range(1, 9))
    assert (alike.distinct, alike.holds) == (1, 1) and not alike.is_proof
    space = Space.load(file, ["codel"], {})
    found = prove(Trials(space, meant, Runner(progress=False)), meant, space.drawn(2), range(1, 21))
    assert (found.distinct, found.holds) == (20, 20) and found.is_proof
    # Wilson's interval of n of n is from n / (n + z²).
    assert found.low == pytest.approx(20 / (20 + 1.959964**2)) and found.high == pytest.approx(1.0)


def test_a_hunt_goes_on_if_the_proof_fails(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof uses other seeds: a condition that holds only for the first seeds does not end the search."""
    space = Space.load(file, ["codel"], {})
    trials = MadeUp(space, lambda *_: 1.0)
    proofs: list[bool] = []

    def proven(_trials: Any, _sentence: Any, _point: Any, seeds: Sequence[int]) -> Any:
        from sojourn.studies.hunting.hunt import Proof

        proofs.append(len(proofs) >= 2)
        return Proof(seeds, 20, 20 if proofs[-1] else 3, 0.8 if proofs[-1] else 0.1, 1.0, [])

    monkeypatch.setattr("sojourn.studies.hunting.hunt.prove", proven)
    hunted = hunt(Search(trials, 1, 300), trials.sentence, shrink=0)
    assert hunted and hunted.proof.is_proof and len(proofs) == 3
    assert hunted.found.evaluations > 10  # the third candidate


def test_the_found_point_is_a_valid_scenario(file: Path, cli: Cli, tmp_path: Path) -> None:
    where = "p50(sojourn) > 2 * target"
    line = ("hunt", file, "--aqm", "codel,pie@linux", "--where", where, "--shrink", 25, "-o", tmp_path / "out")
    about = printed_json(cli(*line, "--json"))
    assert about["found"] and about["proof"]["is_proof"] and about["aqms"] == ["codel", "pie@linux"]
    files = {name: Path(path) for name, path in about["files"].items()}
    assert files.keys() == {"record", "scenario codel", "scenario pie@linux", "figure"}
    assert files["figure"].read_text().startswith("<?xml")
    for name, aqm in (("scenario codel", "codel"), ("scenario pie@linux", "pie@linux")):
        text = files[name].read_text()
        assert text.startswith(f"# {where} with A = codel, B = pie@linux; here {aqm}\n# True with ")
        done = cli("run", files[name], "--json", "-o", tmp_path / "again")
        summary = printed_json(done)["summary"]
        if aqm == "codel":
            [target] = [ms for ms in (5, 20) if f'target = "{ms} ms"' in text or f"target {ms}ms" in text or ms == 5][
                -1:
            ]
            assert summary["links"]["forward"]["sojourn_ms"]["p50"] > 2 * target
    again = cli(*line)
    assert again.exit_code == 0 and "True with" in again.stdout and "hunt.json" in again.stdout


def test_without_success_the_nearest_point_is_reported(file: Path, cli: Cli, tmp_path: Path) -> None:
    done = cli(
        "hunt", file, "--aqm", "codel", "--where", "goodput > 90 Mbit/s", "--evaluations", ROUND, "-o", tmp_path / "o"
    )
    assert done.exit_code == 1
    assert "Nothing found" in done.stdout and "Nearest: " in done.stdout and f"{ROUND} evaluations" in done.stdout
    best = float(rate.removesuffix(" Mbit/s")) if (rate := _nearest(done.stdout)) else 0.0
    assert best > 4  # from 1 to 7: the maximum is at the highest rates


def _nearest(stdout: str) -> str:
    return stdout.split("link.rate ")[1].split(",")[0].split("@")[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--where", "goodput > 5"), "write both in one unit"),
        (("--where", "goodput > 5 Mbit/s", "--aqm", "codle"), "codle"),
        (("--where", "goodput > 5 Mbit/s", "--set", "flows.9.count=3"), "9"),
        (("--where", "goodput > 5 Mbit/s", "--dask", "tcp://x:1", "--jobs", "2"), "--jobs applies to this machine"),
    ],
)
def test_bad_input_gives_a_one_line_error(file: Path, cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    done = cli("hunt", file, *arguments, "-o", file.parent / "none")
    assert done.exit_code == 2 and message in done.stderr and "Traceback" not in done.stderr


def test_a_scenario_without_a_space_is_refused(tmp_path: Path, cli: Cli) -> None:
    plain = tmp_path / "plain.toml"
    plain.write_text(SPACE.split("[draw]")[0])
    done = cli("hunt", plain, "--where", "goodput > 5 Mbit/s")
    assert done.exit_code == 2 and "draw: no free keys" in done.stderr


def test_the_shipped_space_has_the_keys_it_promises(repo: Path) -> None:
    space = Space.load(repo / "scenarios" / "hunt.toml", ["codel"], {})
    assert len(space.leaves) >= 12
    ends = {
        name: (leaf.low, leaf.high, leaf.unit) for name, leaf in space.leaves.items() if isinstance(leaf, NumberRange)
    }
    assert ends["flows.0.count"] == (1, 100, "") and ends["flows.0.rtt"] == (2, 500, "ms")
    assert ends["link.*.0.rate"] == (0.5, 200, "Mbit/s") and "link.*.2.burst" in ends
    refused = 0
    for seed in range(1, 101):
        try:
            space.scenario(space.drawn(seed))
        except InputError:
            refused += 1
    assert refused < 10
