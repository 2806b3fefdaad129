"""The original's verdict on a claim is computed by the same judge from the authors' own runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from paper_checks import CLAIM
from sojourn.papers import PAPERS, paper
from sojourn.papers.gao2015 import original as of_authors
from sojourn.papers.gao2015 import published
from sojourn.papers.gao2015.analysis import CODEL, HARD_LIMIT
from sojourn.papers.judge import Check, Measurements, Verdict, all_checks, all_claims, claims_of, judge, tally
from sojourn.papers.original import Original, add_original, contradicted, original_text, where_text

VALUE = CLAIM | {"id": "S1-U-HL", "engine": "simulate"}
RELATION = VALUE | {"id": "S1-RTT", "kind": "relation"}


def _of_value(*samples: float) -> Measurements:
    return Measurements({VALUE["id"]: samples}, pl.DataFrame(), [], {})


def _of_relation(*values: float) -> Measurements:
    cells = pl.DataFrame({"key": ["x"] * len(values), "seed": range(len(values)), "value": values})

    @all_checks
    def positive(cells: pl.DataFrame) -> list[Check]:
        return [Check(value > 0, f"{value:g}") for value in cells["value"]]

    return Measurements({}, cells, ["key"], {RELATION["id"]: positive})


def _judged(claim: dict[str, Any], local: Measurements | None, original: Original | None) -> Verdict:
    [verdict] = add_original([claim], judge([claim], local), original)
    return verdict


@pytest.mark.parametrize(
    ("reference", "expected_text", "verdict"),
    [(10.3, "satisfies", "tight"), (14.9, "satisfies", "tight"), (15.1, "contradicts", "contradicted")],
)
def test_a_value_is_judged_by_its_own_bands(reference: float, expected_text: str, verdict: str) -> None:
    judged = _judged(VALUE, _of_value(9.5), Original(_of_value(reference), "their runs"))
    assert (judged["original"], judged["verdict"], judged["measured"]) == (expected_text, verdict, 9.5)
    assert (judged["original_measured"], judged["original_n"]) == (reference, 1)
    assert original_text(judged) == f"{expected_text} it (their runs: {reference:g} ms)"
    assert ("measured_verdict" in judged) == (expected_text == "contradicts")


@pytest.mark.parametrize(("local", "alone"), [((1.0,), "holds"), ((-1.0,), "failed")])
def test_a_contradicted_claim_is_counted_separately(local: tuple[float, ...], alone: str) -> None:
    judged = _judged(RELATION, _of_relation(*local), Original(_of_relation(-3.7), "their runs"))
    assert (judged["verdict"], judged["measured_verdict"]) == ("contradicted", alone)
    assert original_text(judged) == "contradicts it (their runs: false at 1 of 1: -3.7)"
    assert contradicted([judged]) == [judged]
    assert {name: count for name, count in tally([judged]).items() if count} == {"contradicted": 1}


def test_claims_not_run_stay_not_run_with_the_original_s_verdict() -> None:
    judged = _judged(RELATION, None, Original(_of_relation(-1.0), "their runs"))
    assert (judged["verdict"], judged["original"]) == ("not-run", "contradicts")


@pytest.mark.parametrize(
    ("values", "least", "expected_text"),
    [
        ((-1.0,) * 9, 10, "unknown"),  # one run too few
        ((-1.0,) * 10, 10, "contradicts"),
        ((2.0,) * 8 + (-1.0,) * 2, 10, "satisfies"),
        ((9.0,) * 7 + (-1.0,) * 3, 10, "contradicts"),  # true for the means, false in three runs
    ],
)
def test_a_tool_speaks_with_enough_runs_only(values: tuple[float, ...], least: int, expected_text: str) -> None:
    judged = _judged(RELATION, _of_relation(1.0), Original(_of_relation(*values), "ns-2", least))
    assert (judged["original"], judged["original_n"]) == (expected_text, len(values))
    assert (f"{len(values)} of {least} runs" in original_text(judged)) == (expected_text == "unknown")


def test_without_runs_of_the_original_nothing_is_known() -> None:
    for original in (None, Original(_of_relation(1.0), "their runs")):
        judged = _judged(VALUE, _of_value(10.0), original)
        assert (judged["original"], judged["verdict"], original_text(judged)) == ("unknown", "tight", "")


def test_false_points_are_reported_and_counted() -> None:
    values = [4.0, -1.5, -2.0, 3.0, -0.25, -7.0]
    cells = pl.DataFrame({"key": range(6), "seed": [1] * 6, "value": values})
    relation = _of_relation(1.0).relations[RELATION["id"]]
    [judged] = judge([RELATION], Measurements({}, cells, ["key"], {RELATION["id"]: relation}))
    assert (judged["places"], judged["false_at"]) == (6, ["-1.5", "-2", "-0.25", "-7"])
    assert where_text(judged) == "false at 4 of 6: -1.5; -2; -0.25; …"


def _of_paper(paper_id: str) -> dict[str, Verdict]:
    """The original's verdict on each claim of a paper, by id."""
    found = paper(paper_id)
    verdicts = []
    for figure in found.figures:
        claims = claims_of(paper_id, figure)
        verdicts += add_original(claims, judge(claims, None), found.original(figure))
    return {verdict["id"]: verdict for verdict in verdicts}


def test_claims_have_no_handwritten_verdict_on_the_original() -> None:
    assert not [claim["id"] for claim in all_claims() if any(key.startswith("original") for key in claim)]


def test_the_authors_of_gao2015_contradict_five_of_their_claims() -> None:
    message = _of_paper("gao2015")
    expected_text = {claim: verdict["original"] for claim, verdict in message.items()}
    assert {claim for claim, word in expected_text.items() if word == "contradicts"} == {
        "S1-F4-7-order",
        "S1-F8-11-a",
        "S1-F8-11-b",
        "S1-RTT",
        "S1-F12-small",
    }
    assert {claim for claim, word in expected_text.items() if word == "unknown"} == {"S1-REV2", "S1-WEB"}
    assert message["S1-U-HL"]["original_measured"] == pytest.approx(4.136)  # 517 kB/s, as printed
    assert message["S1-U-ratio"]["original_measured"] == pytest.approx(1 - 517 / 1383, abs=1e-3)
    assert message["S1-F13-loss"]["original_measured"] == pytest.approx(0.026, abs=5e-4)  # as printed
    assert "1 Mbit/s, 4 FTPs: 23 ms, CoDel 21" in message["S1-F4-7-order"]["original_evidence"]


def test_it_agrees_with_the_specification_s_hypotheses(shared: Path) -> None:
    given = json.loads((shared / "specs" / "claims.json").read_text())
    supposed = {claim["id"]: claim["original"] for claim in given if "original" in claim and claim["id"][:3] == "S1-"}
    message = _of_paper("gao2015")
    assert len(supposed) == 7
    assert {claim: message[claim]["original"] for claim in supposed} == supposed


def _changed(monkeypatch: pytest.MonkeyPatch, column: str, value: float, **where: Any) -> None:
    """Change a value in one row of the published runs."""
    rows = published.published()
    here = pl.all_horizontal(pl.col(name) == one for name, one in where.items())
    assert rows.filter(here).height == 1
    changed = rows.with_columns(pl.when(here).then(value).otherwise(pl.col(column)).alias(column))
    monkeypatch.setattr(of_authors, "published", lambda: changed)
    of_authors.grid.cache_clear()


@pytest.fixture
def fresh() -> Any:
    """Clear the cache of published runs before and after a test."""
    of_authors.grid.cache_clear()
    yield
    of_authors.grid.cache_clear()


ALONE = {"reverse": 0, "web": 0}


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("claim", "column", "value", "where", "before", "after"),
    [
        (
            "S1-F4-7-order",
            "published_mean_ms",
            20,
            {"scheme": HARD_LIMIT, "rate": 1, "rtt_ms": 100, "flows": 4},
            "contradicts",
            "satisfies",
        ),
        (
            "S1-F4-50",
            "published_mean_ms",
            51,
            {"scheme": CODEL, "rate": 16, "rtt_ms": 100, "flows": 8},
            "satisfies",
            "contradicts",
        ),
        (
            "S1-U-HL",
            "published_kBps",
            2000,
            {"scheme": HARD_LIMIT, "rate": 64, "rtt_ms": 500, "flows": 1},
            "satisfies",
            "contradicts",
        ),
    ],
)
def test_another_number_in_the_published_data_changes_the_verdict(
    monkeypatch: pytest.MonkeyPatch,
    claim: str,
    column: str,
    value: float,
    where: dict[str, Any],
    before: str,
    after: str,
) -> None:
    assert _of_paper("gao2015")[claim]["original"] == before
    _changed(monkeypatch, column, value, **where, **ALONE)
    assert _of_paper("gao2015")[claim]["original"] == after


def test_other_papers_have_no_original() -> None:
    for paper_id in set(PAPERS) - {"gao2015", "ns2-codel-variants"}:
        assert {verdict["original"] for verdict in _of_paper(paper_id).values()} == {"unknown"}
