"""`--assume`: varies what a paper leaves open, and finds the assumptions that decide a claim."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, printed_json
from sojourn import papers
from sojourn.base.errors import InputError
from sojourn.papers.engine import study_of
from sojourn.papers.report import write_figure, write_page
from sojourn.papers.reproduction import Cost, reproduce
from sojourn.papers.setup import ANY, Assumption, parse_assumed, swapped
from sojourn.papers.vary import Variation, changed_verdicts

PAPER = "schwarzkopf2016"
ALL = [(paper_id, name) for paper_id in papers.PAPERS for name in papers.paper(paper_id).assumptions]


def _scenarios(paper: papers.Paper, figure_id: str, assumed: dict[str, Any]) -> list[dict[str, Any]]:
    return [point.scenario.document for point in study_of(paper, figure_id, seeds=1, assumed=assumed).points]


@cache
def _usual(paper_id: str, figure_id: str) -> list[dict[str, Any]]:
    return _scenarios(papers.paper(paper_id), figure_id, {})


def _is_about(about: Assumption, value: Any, document: dict[str, Any]) -> bool:
    """Whether an alternative changes a run: alternatives for queue managers change only the managers that they name."""
    aqm = document["link"]["aqm"]
    return not about.swaps or not about.swaps[value].keys().isdisjoint((ANY, f"{aqm['name']}@{aqm['profile']}"))


@pytest.mark.parametrize(("paper_id", "name"), ALL)
def test_an_alternative_changes_every_run_that_it_is_about_and_no_other(paper_id: str, name: str) -> None:
    paper = papers.paper(paper_id)
    about = paper.assumptions[name]
    assert bool(about.alternatives) != about.is_file
    assert about.chosen not in about.alternatives
    assert set(about.figures) <= set(paper.figures)
    for figure_id in paper.figures:
        usual = _usual(paper_id, figure_id)
        for value in about.alternatives:
            varied = _scenarios(paper, figure_id, {name: value})
            pairs = list(zip(usual, varied, strict=True))
            changed = [one != other for one, other in pairs]
            is_about = [about.concerns(figure_id) and _is_about(about, value, one) for one, _ in pairs]
            assert changed == is_about, (figure_id, value)
            assert any(changed) == about.concerns(figure_id), (figure_id, value)


@pytest.mark.parametrize(("paper_id", "name"), ALL)
def test_the_chosen_assumptions_are_those_of_the_studies(paper_id: str, name: str, tmp_path: Path) -> None:
    paper = papers.paper(paper_id)
    figure_id = next(figure for figure in paper.figures if paper.assumptions[name].concerns(figure))
    chosen = {name: paper.assumptions[name].chosen}
    prints = []
    for assumed in ({}, chosen):
        points = study_of(paper, figure_id, seeds=1, assumed=assumed).points
        short = {} if name == "run_length" else {"duration": "12 s", "warmup": "0 s"}
        prints.append(points[-1].scenario.replace(short).run(1).fingerprint)
    assert prints[0] == prints[1]


def test_values_are_json_or_text() -> None:
    known = {name: Assumption("link.aqm", 1, (2,), "") for name in "abc"}
    assert parse_assumed(("a=false", "b = 10", "c=50 s"), known) == {"a": False, "b": 10, "c": "50 s"}
    for texts, words in {
        ("a",): ["KEY=VALUE", "a=", "list", "all"],
        ("a=",): ["KEY=VALUE"],
        ("a=1", "a=2"): ["a is given twice"],
        ("d=1",): ['assumption "d" is unknown', "expected one of a, b, c"],
    }.items():
        with pytest.raises(InputError) as refused:
            parse_assumed(texts, known)
        assert all(word in str(refused.value) for word in words), refused.value


def test_another_reading_has_other_queue_managers_and_its_own_words() -> None:
    known = papers.paper("gao2015").assumptions
    assert parse_assumed(("codel=as printed",), known) == {"codel": "as printed"}
    with pytest.raises(InputError, match='value of codel "as print" is unknown; did you mean "as printed"'):
        parse_assumed(("codel=as print",), known)
    study = study_of(papers.paper("gao2015"), "fig8-11", assumed={"codel": "as printed"})
    aqms = {point.values["link.aqm"]: point.scenario.document for point in study.points}
    for path in ("link", "reverse"):
        profiles = {name: document[path]["aqm"]["profile"] for name, document in aqms.items()}
        assert profiles == {"codel@ns2-patch": "acm2012", "codel@hardlimit-ns2": "hardlimit"}


def test_replacements_keep_parameters_and_parents_come_last() -> None:
    named, first, holds = {"pie target 5ms": "codel"}, {"pie": "pie@linux alpha 1"}, {ANY: "tbf rate 1mbit { * }"}
    assert swapped("pie target 5ms", [named]) == "codel"
    assert swapped("pie target 5ms", [first]) == "pie@linux alpha 1 target 5ms"
    assert swapped("pie target 5ms", [first, holds]) == "tbf rate 1mbit { pie@linux alpha 1 target 5ms }"
    assert swapped("red", [named, first]) == "red"
    known = papers.paper("khademi2013").assumptions
    assumed = {"htb": "10 Mbit/s", "pie": "in ticks", "tick": "4 ms", "gro": None, "ared_probability": "0.1"}
    documents = [one["link"] for one in _scenarios(papers.paper("khademi2013"), "fig2", assumed)]
    assert {link["aqm"]["name"].split()[0] for link in documents} == {"htb"}
    assert [sum(word in str(link["aqm"]) for link in documents) for word in ("cisco2013-ticks", "codel@")] == [5, 5]
    assert {link["tick"] for link in documents} == {"4 ms"}
    assert not any("gro" in link for link in documents)
    assert parse_assumed(("ared_probability=0.1", "tick=null"), known) == {"ared_probability": "0.1", "tick": None}


def test_a_claim_is_decided_by_the_assumption_that_changes_its_verdict() -> None:
    base = [{"id": "a", "verdict": "tight"}, {"id": "b", "verdict": "failed"}, {"id": "c", "verdict": "holds"}]
    after = [{"id": "b", "verdict": "loose"}, {"id": "a", "verdict": "tight"}]
    varied = [Variation("sack", False, after, Cost()), Variation("cc", "reno", base, Cost())]
    [one] = changed_verdicts(base, varied)
    assert (one.name, one.value, one.before["id"]) == ("sack", False, "b")
    assert (one.before["verdict"], one.after["verdict"]) == ("failed", "loose")


def test_assumptions_are_listed(cli: Cli) -> None:
    listed = printed_json(cli("reproduce", PAPER, "--assume", "list", "--json"))
    assert [one["name"] for one in listed] == list(papers.paper(PAPER).assumptions)
    lines = cli("reproduce", PAPER, "--assume", "list").output.splitlines()
    [length] = [at for at, line in enumerate(lines) if line.startswith("run_length")]
    assert "50 s, 200 s, 500 s" in lines[length]
    assert any(line.startswith("delayed_ack") for line in lines)


def test_one_assumption(cli: Cli, tmp_path: Path) -> None:
    usual, assumed = (
        json.loads(cli("reproduce", PAPER, "--figure", "fig2", "--seeds", "2", "-o", tmp_path, "--json", *more).stdout)
        for more in ((), ("--assume", "delayed_ack=false"))
    )
    assert usual["figures"][0]["assumed"] == {}
    assert assumed["figures"][0]["assumed"] == {"delayed_ack": False}
    assert not set(usual["figures"][0]["fingerprints"]) & set(assumed["figures"][0]["fingerprints"])
    assert not set(usual["files"]) & set(assumed["files"])
    page = Path(assumed["pages"][0])
    assert page.parent == tmp_path / PAPER / "delayed_ack-false"
    assert "Assumptions other than the defaults: <strong>delayed_ack=false</strong>" in page.read_text(encoding="utf-8")


def test_a_page_lists_the_figures_that_an_assumption_does_not_affect(tmp_path: Path) -> None:
    about = papers.paper(PAPER).assumptions
    assumed = {"run_length": "12 s", "sack": False}
    parts = [reproduce(PAPER, figure, seeds=1, assumed=assumed, root=tmp_path) for figure in ("fig1", "fig2")]
    assert [one.assumed for one in parts] == [{"sack": False}, assumed]
    assert not about["run_length"].concerns("fig1")
    for one in parts:
        write_figure(one, tmp_path)
    page = write_page(parts, tmp_path).read_text(encoding="utf-8")
    assert "sack=false, run_length=12 s</strong>. Not all of them concern fig1." in page


def test_all_assumptions(cli: Cli, tmp_path: Path) -> None:
    command = ("reproduce", PAPER, "--figure", "fig2", "--seeds", "1", "--assume", "all", "-o", tmp_path)
    whole = json.loads(cli(*command, "--json").stdout)
    known = papers.paper(PAPER).assumptions
    pairs = [(one["name"], one["value"]) for one in whole["assumptions"]]
    assert pairs == [(name, value) for name, about in known.items() for value in about.alternatives]
    usual = {claim["id"]: claim["verdict"] for claim in whole["claims"]}
    changes = [(one["name"], each["claim"]) for one in whole["assumptions"] for each in one["decides"]]
    assert changes
    for one in whole["assumptions"]:
        assert sum(one["tally"].values()) == len(usual) == 8
        assert all(each["verdict"] != usual[each["claim"]] for each in one["decides"])
    output = cli(*command).output
    page = (tmp_path / PAPER / "index.html").read_text(encoding="utf-8")
    assert "Assumptions that decide a claim" in page
    for name, value in pairs:
        spelled = f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        assert spelled in output
        assert spelled in page


BAD = {
    "unknown": (["--assume", "delayed_acks=false"], ['did you mean "delayed_ack"?']),
    "no value": (["--assume", "sack"], ["KEY=VALUE"]),
    "bad value": (["--assume", "run_length=50"], ["duration", "unit"]),
    "bad kind": (["--assume", "sack=[1]"], ["sack"]),
    "not about it": (["--figure", "fig1", "--assume", "run_length=50 s"], ["fig1", "table1"]),
    "all and one": (["--assume", "all", "--assume", "sack=false"], ["cannot be combined"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_assumptions(cli: Cli, tmp_path: Path, case: str) -> None:
    args, words = BAD[case]
    result = cli("reproduce", PAPER, "--figure", "fig2", "-o", tmp_path / "out", *args)
    assert result.exit_code == 2
    assert all(word in result.stderr for word in words), result.stderr
    assert not (tmp_path / "out").exists()


def test_assumptions_are_of_a_paper(cli: Cli) -> None:
    result = cli("reproduce", "--quick", "--assume", "sack=false")
    assert result.exit_code == 2
    assert "PAPER" in result.stderr
