"""Search over assumptions that a paper leaves open: sampling, hill climbing, and reports on chance and assumptions."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, printed_json
from paper_checks import CLAIM
from sojourn import papers
from sojourn.base.errors import InputError
from sojourn.papers.effects import effects_of
from sojourn.papers.judge import Measurements, claims_of, judge
from sojourn.papers.search import AT_RANDOM, JudgedSetup, SearchResult, divided, draws, score, search, space
from sojourn.papers.search_report import report, section
from sojourn.papers.search_runs import SetupJudge

PAPER = papers.paper("schwarzkopf2016")
SPACE = {"a": (0, 1), "b": (None, "1 ms", "2 ms"), "c": (False, True), "d": ("x", "y", "z")}
CLAIMS = {f"fig{figure}": [f"{figure}-{claim}" for claim in range(6)] for figure in range(6)}


def _world(effects: Mapping[tuple[str, Any], float], noise: float) -> Any:
    """A judge with scores from effects common to all claims, plus a part that depends on set-up and claim."""

    def judged(setup: Mapping[str, Any]) -> JudgedSetup:
        level = 0.4 + sum(effects.get((name, value), 0.0) for name, value in setup.items())
        rolls = {name: random.Random(f"{name} {sorted(setup.items(), key=str)}").random() for name in _ids()}
        scores = {name: level + noise * (roll - 0.5) for name, roll in rolls.items()}
        return JudgedSetup(
            setup, scores, {name: "tight" if value > 0.5 else "failed" for name, value in scores.items()}
        )

    return judged


def _ids() -> list[str]:
    return [name for names in CLAIMS.values() for name in names]


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.papers.search.space", lambda _paper, _figures: SPACE)


def _search(judged: Any, number: int = 24) -> SearchResult:
    return search(PAPER, list(CLAIMS), number, judged, claims=CLAIMS, others=[judged, judged])


@pytest.mark.parametrize(
    ("measured", "expected"),
    [(10.0, 1.0), (9.0, 1.0), (13.0, 0.75), (5.0, 0.5), (15.0, 0.5), (0.0, 0.25), (20.0, 0.25), (nan, 0.0), (inf, 0.0)],
)
def test_a_value_scores_by_its_distance_in_bands(measured: float, expected: float) -> None:
    [verdict] = judge([CLAIM], Measurements({CLAIM["id"]: [measured]}, None, (), {}))  # type: ignore[arg-type]
    assert score(verdict) == pytest.approx(expected)


def test_a_relation_scores_all_or_nothing_and_unmeasured_ones_nothing() -> None:
    relation = {"kind": "relation", "expected": True}
    assert [score({**relation, "measured": value}) for value in (True, False, None)] == [1.0, 0.0, 0.0]


def test_draws_are_different_and_the_same_again() -> None:
    first, again = (list(draws(SPACE, 20, seed=3)) for _ in range(2))
    assert first == again
    assert len({str(setup) for setup in first}) == 20
    assert {"a": 0, "b": None, "c": False, "d": "x"} not in first
    assert list(draws(SPACE, 20, seed=4)) != first
    assert len(list(draws(SPACE, 1000, seed=3))) == 2 * 3 * 2 * 3 - 1


def test_halves_divide_figures_or_with_few_of_them_claims() -> None:
    for figures, seen, unseen in divided(CLAIMS, 1):
        assert len(figures) == 3
        assert seen == {name for figure in figures for name in CLAIMS[figure]}
        assert seen | unseen == set(_ids()) and not seen & unseen
    for figures, seen, unseen in divided({"fig0": CLAIMS["fig0"]}, 1):
        assert figures == () and len(seen) == len(unseen) == 3
    with pytest.raises(InputError, match="a single claim"):
        list(divided({"fig0": ["one"]}, 1))


@pytest.mark.usefixtures("made_up")
def test_true_effects_are_found_and_hold_on_the_held_out_half() -> None:
    found = _search(_world({("a", 1): 0.2, ("b", "2 ms"): 0.1, ("c", True): -0.2}, noise=0.02), 30)
    assert len(found.tried) <= 31 and len(found.at_random) == round(AT_RANDOM * 30)
    assert {key: found.best.setup[key] for key in "abc"} == {"a": 1, "b": "2 ms", "c": False}
    reported = report(found, seeds=[1], other_seeds=[2, 3])
    for split in reported["splits"]:
        assert "a=1" in split["changes"] and "c=true" not in split["changes"]
        assert split["unseen"]["best"] - split["unseen"]["usual"] == pytest.approx(0.3, abs=0.03)
    determined = {one["name"]: one["determined"] for one in reported["assumptions"]}
    assert determined == {"a": "1", "b": "2 ms", "c": "false", "d": None}
    [_, effect] = reported["assumptions"][0]["values"]
    assert abs(effect["effect"] - 0.2) < effect["ci95"] < 0.05
    assert effect["halves"] == 5


@pytest.mark.usefixtures("made_up")
def test_luck_does_not_stay_on_the_half_that_was_not_seen() -> None:
    found = _search(_world({}, noise=1.0), 24)
    reported = report(found, seeds=[1], other_seeds=[2, 3])
    gains = {
        half: sum(split[half]["best"] - split[half]["usual"] for split in reported["splits"]) / 5
        for half in ("seen", "unseen")
    }
    assert gains["seen"] > 0.05 > gains["unseen"], gains
    assert [one["determined"] for one in reported["assumptions"]].count(None) >= 3


@pytest.mark.usefixtures("made_up")
def test_too_few_set_ups_determine_nothing() -> None:
    reported = report(_search(_world({("a", 1): 0.2}, noise=0.0), 4), seeds=[1])
    assert all(one["determined"] is None for one in reported["assumptions"])
    assert reported["assumptions"][0]["values"][1]["effect"] is None
    assert any("| a | 0 | – |" in line for line in section(reported))


def test_a_value_that_was_not_drawn_has_no_effect_and_leaves_its_assumption_open() -> None:
    world, claims = _world({("a", 1): 0.2, ("d", "y"): 0.1}, noise=0.01), frozenset(_ids())
    at_random = [world(setup) for setup in draws(SPACE, 40, seed=1) if setup["d"] != "z"]
    effects = effects_of(SPACE, at_random, claims)
    assert effects.of("d", "z") == (None, None)
    assert (effects.determined("a"), effects.determined("d")) == ("1", None)
    assert (effects.best()["a"], effects.best()["d"]) == (1, "y")


def test_only_open_assumptions_are_searched() -> None:
    for paper in map(papers.paper, ("schwarzkopf2016", "khademi2013")):
        open_to = space(paper, paper.searched)
        assert open_to
        for name, about in paper.assumptions.items():
            assert (name in open_to) == (not about.stated and any(map(about.concerns, paper.searched)))
        assert all(values[0] == paper.assumptions[name].chosen for name, values in open_to.items())
    assert "cc" not in space(PAPER, ["timescales"])
    assert set(papers.paper("khademi2013").searched).isdisjoint(("fig9", "fig10", "overall"))


def test_papers_without_open_assumptions_cannot_be_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.papers.search.space", lambda _paper, _figures: {})
    with pytest.raises(InputError, match="has no open assumption with alternatives for fig0"):
        _search(_world({}, noise=0.0))


def test_verdicts_are_reused_for_the_same_seeds(tmp_path: Path) -> None:
    usual = {name: values[0] for name, values in space(PAPER, ["fig2"]).items()} | {"run_length": "12 s"}
    first, again, other = (SetupJudge(PAPER, ["fig2"], tmp_path, seeds=seeds) for seeds in ([1], [1], [2]))
    assert first(usual) == again(usual)
    assert (first.computed, again.computed) == (1, 0)
    assert other(usual).scores != first(usual).scores
    assert other.computed == 1
    assert set(first(usual).scores) == {claim["id"] for claim in claims_of(PAPER.id, "fig2")}
    assert again({**usual, "sack": False}).scores != first(usual).scores


def test_the_command_searches_and_goes_on(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shorter = {"run_length": ("12 s", "13 s"), "sack": (True, False), "delayed_ack": (True, False)}
    monkeypatch.setattr("sojourn.papers.search.space", lambda _paper, _figures: shorter)
    command = ("reproduce", PAPER.id, "--search", "3", "--figure", "fig2", "-o", tmp_path)
    first = printed_json(cli(*command, "--json"))
    assert first["computed"] == first["tried"] + 4
    assert (first["possible"], first["claims"], first["figures"]) == (8, 8, ["fig2"])
    assert len(first["splits"]) == 5
    again = cli(*command)
    assert "Set-ups run now: 0 of" in again.output
    data, page = map(Path, first["files"])
    assert json.loads(data.read_text())["best"] == first["best"]
    assert page.read_text().startswith(f"{first['tried']} of 8 set-ups were tried")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--search", "5"), "PAPER"),
        ((PAPER.id, "--search", "5", "--assume", "all"), "leave the rest out"),
        ((PAPER.id, "--search", "5", "--engine", "kernel"), "leave the rest out"),
        ((PAPER.id, "--search", "1"), "2"),
        ((PAPER.id, "--search", "5", "--figure", "fig99"), "fig99"),
    ],
)
def test_bad_searches(cli: Cli, tmp_path: Path, args: tuple[str, ...], words: str) -> None:
    result = cli("reproduce", *args, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert words in result.stderr
