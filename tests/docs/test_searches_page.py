"""The sections of docs/searches.md equal the data, and the data agree with the papers."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sojourn.base.markdown import read_part
from sojourn.papers import paper
from sojourn.papers.judge import claims_of
from sojourn.papers.search import space
from sojourn.papers.setup import spelled

DOCS = Path(__file__).parents[2] / "docs"
PAGE: dict[str, Any] = runpy.run_path(str(DOCS / "searches.py"))
TEXT = (DOCS / "searches.md").read_text(encoding="utf-8")
SEARCHED = sorted(file.stem for file in (DOCS / "searches").glob("*.json"))


@pytest.mark.parametrize("paper_id", SEARCHED)
def test_a_section_matches_its_data(paper_id: str) -> None:
    found = PAGE["searches"]()[paper_id]
    assert read_part(TEXT, "search", paper_id) == "\n".join(PAGE["summary"](found)).strip()


def test_the_files_match_the_searches() -> None:
    for name, rows in PAGE["tables"]().items():
        text = pl.DataFrame(rows, infer_schema_length=None).write_csv(float_precision=3)
        assert text == (DOCS / "data" / name).read_text(encoding="utf-8"), "run: python docs/searches.py DIR"


@pytest.mark.parametrize("paper_id", SEARCHED)
def test_the_data_are_of_the_paper_as_it_is(paper_id: str) -> None:
    reported = json.loads((DOCS / "searches" / f"{paper_id}.json").read_text(encoding="utf-8"))
    found = paper(paper_id)
    assert reported["figures"] == list(found.searched)
    assert reported["claims"] == sum(len(claims_of(paper_id, figure)) for figure in found.searched)
    open_to = {name: [spelled(value) for value in values] for name, values in space(found, found.searched).items()}
    assert open_to == {
        one["name"]: [spelled(value["value"]) for value in one["values"]] for one in reported["assumptions"]
    }
    assert reported["tried"] == 1 + reported["at_random"] + reported["climbing"]
    assert len(reported["splits"]) == 5


def test_both_papers_have_a_section() -> None:
    assert SEARCHED == ["khademi2013", "schwarzkopf2016"]
