"""The figures of nichols2012: measurements, and relations that can be true and false."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from paper_checks import Row, assert_true_but_false_when_shuffled, measured_of, relations_of, short_studies, table
from sojourn.papers import nichols2012, paper
from sojourn.papers.judge import Measurements, claims_of, judge
from sojourn.papers.nichols2012 import bandwidth, fairness
from sojourn.papers.nichols2012.schemes import CODEL, RED
from sojourn.studies.study import StudyResult

PAPER = "nichols2012"


def _over_bandwidth(row: Row) -> Row:
    """RED trades utilisation for delay as the rate increases; at the lowest rate both are similar."""
    rate = float(row["rate_mbit"])
    share = (rate - 3) / 97
    if row["scheme"] == CODEL:
        return {"median_ms": 12 - 9 * share, "utilisation": 0.97}
    return {"median_ms": 14 - 13 * share, "utilisation": 0.99 - 0.1 * share}


def _fair(row: Row) -> Row:
    return {"jain": 0.98 - float(row["ftps"]) / 1000 - (0.02 if row["scheme"] == RED else 0)}


BOTH = {"scheme": (CODEL, RED)}
WIDE = table(BOTH | {"mix": bandwidth.MIXES, "rate_mbit": bandwidth.RATES}, _over_bandwidth)
AS_PUBLISHED = {
    "S5-UTIL": WIDE,
    "S5-DELAY": WIDE,
    "S5-JAIN": table(BOTH | {"ftps": fairness.LOADS, "rate_mbit": fairness.RATES}, _fair),
}
"""One row per point, with values that satisfy the paper's claims."""
RELATIONS = relations_of(PAPER)
KEYS = {"scheme", "mix", "ftps", "rate_mbit"}


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StudyResult]:
    """Studies of all figures for one seed, with short runs."""
    # Flows that start after 12 s are not needed.
    return short_studies(PAPER, tmp_path_factory.mktemp(PAPER), 'duration = "12 s"\nwarmup = "2 s"\n')


@pytest.fixture(scope="module")
def measured(studies: dict[str, StudyResult]) -> dict[str, Measurements]:
    return measured_of(PAPER, studies)


def test_every_claim_is_judged_and_every_figure_drawn(
    studies: dict[str, StudyResult], measured: dict[str, Measurements]
) -> None:
    for figure, result in studies.items():
        verdicts = judge(claims_of(PAPER, figure), measured[figure])
        assert {verdict["verdict"] for verdict in verdicts} <= {"holds", "failed"}
        assert paper(PAPER).figure(figure).draw(result, verdicts).axes
    assert {claim["figure"] for claim in claims_of(PAPER)} == set(nichols2012.FIGURES)
    assert {claim["id"] for claim in claims_of(PAPER)} == set(RELATIONS)


def test_a_mix_has_the_traffic_that_its_name_says(
    studies: dict[str, StudyResult], measured: dict[str, Measurements]
) -> None:
    cells = measured["bandwidth"].cells
    assert set(cells["mix"]) == set(bandwidth.MIXES)
    for mix, one in zip(cells["mix"], studies["bandwidth"].results, strict=True):
        ftp, web, cbr = (sent > 0 for sent in one.groups["sent"])
        assert (ftp, web, cbr) == (True, "web" in mix, "CBR" in mix)


def test_both_directions_have_the_same_queue_and_access_links_ten_times_the_rate(
    studies: dict[str, StudyResult],
) -> None:
    for result in studies.values():
        for point in result.study.points:
            document: dict[str, Any] = point.scenario.document
            assert document["link"]["aqm"] == document["reverse"]["aqm"]
            rate, access = (
                text.split(" ") for text in (point.values["link.rate"], point.values["flows.0.access_rate"])
            )
            megabits = {"Mbit/s": 1, "Gbit/s": 1000}
            assert float(access[0]) * megabits[access[1]] == 10 * float(rate[0]) * megabits[rate[1]]


@pytest.mark.parametrize("claim", RELATIONS)
def test_a_relation_holds_for_the_summary_and_fails_when_shuffled(claim: str) -> None:
    _, relation = RELATIONS[claim]
    assert_true_but_false_when_shuffled(relation, AS_PUBLISHED[claim], KEYS)


def test_relations_are_about_the_values_that_the_runs_measure(measured: dict[str, Measurements]) -> None:
    for claim, (figure, _) in RELATIONS.items():
        made_up, found = AS_PUBLISHED[claim], measured[figure]
        assert set(made_up.columns) <= set(found.cells.columns)
        keys = list(found.keys)
        assert (
            made_up.select(keys)
            .sort(keys)
            .equals(found.cells.select(keys).sort(keys).cast(made_up.select(keys).schema))
        )


def test_each_relation_turns_at_its_threshold() -> None:
    codel, low = pl.col("scheme") == CODEL, pl.col("rate_mbit") == bandwidth.LOW_RATE
    red_delay = WIDE.filter(~codel & low)["median_ms"][0]
    for factor, similar in ((bandwidth.SIMILAR * 0.99, True), (bandwidth.SIMILAR * 1.01, False)):
        there = codel & low & (pl.col("mix") == bandwidth.MIXES[1])
        delay = pl.when(there).then(red_delay / factor).otherwise("median_ms")
        assert bandwidth.S5_DELAY(WIDE.with_columns(median_ms=delay)) is similar
    fair = AS_PUBLISHED["S5-JAIN"]
    at = codel & (pl.col("ftps") == 4) & (pl.col("rate_mbit") == 10)
    for loss, ahead in ((0.029, True), (0.031, False)):
        cells = fair.with_columns(jain=pl.when(at).then(pl.col("jain") - loss).otherwise("jain"))
        assert fairness.S5_JAIN(cells) is ahead
