"""`--assume`: what a paper leaves unsaid, varied; which of it decides a claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sojourn import papers
from sojourn.errors import InputError
from sojourn.papers.setup import Assumption, parse_assumed, sets_of
from sojourn.papers.vary import Variation, decided
from sojourn.study import Study

PAPER = "schwarzkopf2016"
ALL = [(paper_id, name) for paper_id in papers.PAPERS for name in papers.paper(paper_id).assumptions]


def _scenarios(paper: papers.Paper, figure_id: str, assumed: dict[str, Any]) -> list[dict[str, Any]]:
    with paper.study_file(figure_id) as path:
        study = Study.load(path, seeds=1, sets=sets_of(paper.assumptions, assumed, figure_id))
    return [point.scenario.document for point in study.points]


@pytest.mark.parametrize(("paper_id", "name"), ALL)
def test_an_alternative_changes_every_run_that_it_is_about_and_no_other(paper_id: str, name: str) -> None:
    paper = papers.paper(paper_id)
    about = paper.assumptions[name]
    assert about.alternatives
    assert about.chosen not in about.alternatives
    assert set(about.figures) <= set(paper.figures)
    for figure_id in paper.figures:
        usual = _scenarios(paper, figure_id, {})
        for value in about.alternatives:
            varied = _scenarios(paper, figure_id, {name: value})
            same = [one == other for one, other in zip(usual, varied, strict=True)]
            assert set(same) == {not about.concerns(figure_id)}, (figure_id, value)


@pytest.mark.parametrize(("paper_id", "name"), ALL)
def test_what_is_called_chosen_is_what_the_studies_take(paper_id: str, name: str, tmp_path: Path) -> None:
    paper = papers.paper(paper_id)
    figure_id = next(figure for figure in paper.figures if paper.assumptions[name].concerns(figure))
    chosen = {name: paper.assumptions[name].chosen}
    prints = []
    for assumed in ({}, chosen):
        with paper.study_file(figure_id) as path:
            sets = sets_of(paper.assumptions, assumed, figure_id)
            [*points] = Study.load(path, seeds=1, sets=sets).points
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
        ("d=1",): ['assumption "d" is unknown', "there is a, b, c"],
    }.items():
        with pytest.raises(InputError) as refused:
            parse_assumed(texts, known)
        assert all(word in str(refused.value) for word in words), refused.value


def test_a_claim_is_decided_by_what_changes_its_verdict() -> None:
    base = [{"id": "a", "verdict": "tight"}, {"id": "b", "verdict": "failed"}, {"id": "c", "verdict": "holds"}]
    after = [{"id": "b", "verdict": "loose"}, {"id": "a", "verdict": "tight"}]
    varied = [Variation("sack", False, after, papers.Spent()), Variation("cc", "reno", base, papers.Spent())]
    [one] = decided(base, varied)
    assert (one.name, one.value, one.before["id"]) == ("sack", False, "b")
    assert (one.before["verdict"], one.after["verdict"]) == ("failed", "loose")
