"""The judge: bands, relations, and the contents of claims.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from paper_checks import CLAIM
from sojourn.papers import PAPERS, paper
from sojourn.papers.judge import (
    Measurements,
    all_claims,
    band_text,
    claims_of,
    function_name,
    judge,
    measured_text,
    published_text,
    relations_by_claim,
    tally,
    undecided_text,
)
from sojourn.papers.schwarzkopf2016 import table1

PAPER_OF = {
    "S0": "schwarzkopf2016",
    "S1": "gao2015",
    "S2": "ns2-codel-variants",
    "S3": "khademi2013",
    "S4": "cs244-2015",
    "S5": "nichols2012",
}
ALL = 242
"""Number of claims: those in the specification's file, and three that only its text has."""


def test_every_claim_has_paper_figure_and_engine() -> None:
    claims = all_claims()
    assert len(claims) == ALL == len({claim["id"] for claim in claims})
    for claim in claims:
        assert claim["paper"] == PAPER_OF[claim["id"].split("-")[0]]
        assert claim["figure"]
        assert claim["engine"] in ("simulate", "emulate")
    assert len(claims_of("schwarzkopf2016", "table1")) == 54


def test_claims_equal_the_specification(shared: Path) -> None:
    given: list[dict[str, Any]] = json.loads((shared / "specs" / "claims.json").read_text())
    added = ("paper", "figure", "engine")
    judged = ("original", "original_evidence")  # a hypothesis there; computed here
    given = [{key: value for key, value in claim.items() if key not in judged} for claim in given]
    listed = [claim for claim in all_claims() if claim["paper"] != "nichols2012"]
    assert [{key: value for key, value in claim.items() if key not in added} for claim in listed] == given


@pytest.mark.parametrize(
    ("samples", "verdict"),
    [
        ([10.0, 10.5], "tight"),
        ([9.0], "tight"),
        ([11.0], "tight"),
        ([8.9], "loose"),
        ([15.0], "loose"),
        ([15.1], "failed"),
        ([4.9], "failed"),
        ([], "not-run"),
    ],
)
def test_values_are_judged_by_their_mean(samples: list[float], verdict: str) -> None:
    measured = Measurements({CLAIM["id"]: samples}, pl.DataFrame(), [], {})
    [judged] = judge([CLAIM], measured)
    assert judged["verdict"] == verdict
    assert judged["expected"] == 10.0
    assert judged["n"] == len(samples)
    assert (judged["ci95"] is None) == (len(samples) < 2)
    assert (judged["measured"] is None) == (not samples)


def test_nothing_measured_is_not_run() -> None:
    assert tally(judge(all_claims(), None))["not-run"] == ALL


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([1, 1, 1, 1, 1], "holds"),
        ([1, 1, 1, 1, -1], "holds"),  # 80 %
        ([5, 5, 5, -1, -1], "failed"),  # true for the means, but only for 60 %
        ([1, 1, 1, 1, -9], "failed"),  # true for 80 %, but not for the means
    ],
)
def test_relations_need_the_means_and_most_replications(values: list[int], verdict: str) -> None:
    claim = CLAIM | {"kind": "relation"}
    cells = pl.DataFrame({"key": ["x"] * 5, "seed": [1, 2, 3, 4, 5], "value": values})
    measured = Measurements({}, cells, ["key"], {CLAIM["id"]: lambda frame: bool((frame["value"] > 0).all())})
    [judged] = judge([claim], measured)
    assert judged["verdict"] == verdict
    assert judged["expected"] is True
    assert isinstance(judged["measured"], bool)


@pytest.mark.parametrize(
    ("values", "full", "verdict"),
    [
        ([5, 5, -1], 20, "undecided"),  # false in one of three; four of twenty are allowed
        ([9, 9, 9, -1, -1], 20, "undecided"),
        ([5, 5, -1], 5, "undecided"),  # one of five is allowed
        ([5, 5, -1], 4, "failed"),  # none of four is allowed
        ([9, 9, -1, -1, -1, -1], 20, "undecided"),  # four of twenty
        ([9, 9, 9, -1, -1, -1, -1, -1], 20, "failed"),  # five of twenty, whatever the others are
        ([1, 1, -9], 20, "failed"),  # false for the means
        ([-1, -1, -1], 20, "failed"),
        ([5, 5, 5], 20, "holds"),
        ([5, 5, 5, 5, -1], 20, "holds"),  # 80 %
        ([5, 5, -1], 3, "failed"),  # all seeds are there
        ([5, 5, -1], 0, "failed"),  # no more seeds requested
        ([5], 20, "holds"),
        ([-5], 20, "failed"),
    ],
)
def test_a_relation_is_undecided_only_where_missing_seeds_could_turn_it(
    values: list[int], full: int, verdict: str
) -> None:
    claim = CLAIM | {"kind": "relation"}
    seeds = list(range(1, len(values) + 1))
    cells = pl.DataFrame({"key": ["x"] * len(values), "seed": seeds, "value": values})
    measured = Measurements({}, cells, ["key"], {CLAIM["id"]: lambda frame: bool((frame["value"] > 0).all())})
    [judged] = judge([claim], measured, full=full)
    assert judged["verdict"] == verdict
    assert judged["full"] == max(full, len(values))
    reported = undecided_text([judged])
    assert (reported is None) == (verdict != "undecided")
    if reported:
        false = sum(value < 0 for value in values)
        assert f"false in {false} of {len(values)} runs, and it may be in {full // 5} of {full}" in reported


def _published() -> pl.DataFrame:
    """Table I as printed."""
    expected = {claim["id"]: claim["expected"] for claim in claims_of("schwarzkopf2016", "table1")}
    rows = [
        {
            "aqm": aqm,
            "rtt_ms": rtt_ms,
            "flows": flows,
            "mean_ms": expected[table1.claim_id(aqm, rtt_ms, flows, "mean")],
            "q99_ms": expected[table1.claim_id(aqm, rtt_ms, flows, "q99")],
        }
        for aqm in table1.AQMS.values()
        for rtt_ms in table1.RTTS_MS.values()
        for flows in table1.FLOWS
    ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize("claim_id", table1.RELATIONS)
def test_relation_is_true_of_the_published_table(claim_id: str) -> None:
    assert table1.RELATIONS[claim_id](_published())


@pytest.mark.parametrize("claim_id", table1.RELATIONS)
def test_relation_is_false_of_shuffled_results(claim_id: str) -> None:
    published = _published()
    for seed in range(20):
        shuffled = published.with_columns(
            pl.col("mean_ms").shuffle(seed=seed), pl.col("q99_ms").shuffle(seed=seed + 1000)
        )
        assert not table1.RELATIONS[claim_id](shuffled), seed


def test_relations_and_claims_match_one_to_one() -> None:
    for paper_id in PAPERS:
        found = paper(paper_id)
        for figure_id in found.figures:
            module = found.figure(figure_id)
            relations = {c["id"] for c in claims_of(paper_id, figure_id) if c["kind"] == "relation"}
            assert set(module.RELATIONS) == relations
            assert {f.__name__ for f in module.RELATIONS.values()} == {function_name(one) for one in relations}


def test_a_function_without_a_claim_is_refused() -> None:
    def S0_T1_rel99(cells: pl.DataFrame) -> bool:  # noqa: N802
        return cells.is_empty()

    with pytest.raises(KeyError, match="S0_T1_rel99"):
        relations_by_claim([S0_T1_rel99])


def test_published_values_are_tight() -> None:
    table = _published()
    samples = {
        table1.claim_id(row["aqm"], row["rtt_ms"], row["flows"], statistic): [row[column]]
        for row in table.iter_rows(named=True)
        for statistic, column in table1.STATISTICS.items()
    }
    measured = Measurements(samples, table.with_columns(seed=pl.lit(1)), table1.KEYS, table1.RELATIONS)
    counts = tally(judge(claims_of("schwarzkopf2016", "table1"), measured))
    assert {name: count for name, count in counts.items() if count} == {"tight": 48, "holds": 6}


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (8.6949, 0.0593, "8.695 ± 0.059"),
        (37.98, 7.49, "38.0 ± 7.5"),
        (16100.0, 312.0, "16100 ± 312"),
        (6.13733, 0.0003, "6.1373 ± 0.0003"),
        (12.066815, 1e-15, "12.07 ± 0"),
        (0.0, 0.25, "0.00 ± 0.25"),
        (0.0, 0.0, "0 ± 0"),
        (3.14159, None, "3.142"),
    ],
)
def test_a_measured_value_has_the_digits_that_its_interval_allows(mean: float, half: float | None, text: str) -> None:
    assert measured_text({"kind": "value", "measured": mean, "ci95": half}) == text


def test_values_published_as_text() -> None:
    value, relation = (
        CLAIM | {"tight": [9.0, 11.0]},
        {"kind": "relation", "metric": "a < b", "measured": None, "ci95": None},
    )
    assert (published_text(value), band_text(value, "tight")) == ("10 ms", "9 to 11")
    assert published_text({"kind": "range", "expected": 0.5, "unit": ""}) == "0.5"
    assert (published_text(relation), band_text(relation, "tight"), measured_text(relation)) == ("a < b", "–", "–")
    assert measured_text(relation | {"measured": True, "share": 0.85}) == "true, 85% of seeds"
