"""The tables of docs/reproduction.md are those of claims.json; what they say of the original is what is computed."""

from __future__ import annotations

import re
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sojourn.base.markdown import replace_part, table
from sojourn.papers import PAPERS, paper
from sojourn.papers.judge import UNKNOWN, VERDICTS, claims_of, judge, published_text
from sojourn.papers.original import beside_original

DOCS = Path(__file__).parents[2] / "docs"
PAGE: dict[str, Any] = runpy.run_path(str(DOCS / "claims.py"))
TEXT = (DOCS / "reproduction.md").read_text(encoding="utf-8")
TABLES: dict[str, list[dict[str, str]]] = {
    paper_id: [dict(zip(PAGE["HEADINGS"], cells, strict=True)) for cells in PAGE["rows_of"](TEXT, paper_id)]
    for paper_id in PAPERS
}


@pytest.mark.parametrize("paper_id", PAPERS)
def test_every_claim_has_a_line_with_what_the_paper_says(paper_id: str) -> None:
    claims = claims_of(paper_id)
    assert [line["claim"] for line in TABLES[paper_id]] == [claim["id"] for claim in claims]
    for claim, line in zip(claims, TABLES[paper_id], strict=True):
        [verdict] = judge([claim], None)
        assert line["what"] == " ".join(verdict["metric"].split()), line["claim"]
        assert line["published"] == ("true" if verdict["kind"] == "relation" else published_text(verdict))
        assert line["verdict"] in VERDICTS
        assert (line["measured"][0] in "–s") == (line["verdict"] == "not-run")


@pytest.mark.parametrize("paper_id", PAPERS)
def test_what_is_said_of_the_original_is_what_is_computed(paper_id: str) -> None:
    found = paper(paper_id)
    lines = {line["claim"]: line for line in TABLES[paper_id]}
    for figure in found.figures:
        claims = claims_of(paper_id, figure)
        for verdict in beside_original(claims, judge(claims, None), found.original(figure)):
            line = lines[verdict["id"]]
            assert line["original"] == ("" if verdict["original"] == UNKNOWN else verdict["original"])
            contradicted = verdict["original"] == "contradicts" and line["verdict"] != "not-run"
            assert (line["verdict"] == "contradicted") == contradicted
            if contradicted:
                assert line["remark"].startswith(verdict["original_evidence"])


@pytest.mark.parametrize("paper_id", PAPERS)
def test_the_verdict_follows_from_the_printed_mean_and_the_band(paper_id: str) -> None:
    """A claim that its original contradicts tells its own verdict in the remark."""
    judged = {claim["id"]: claim for claim in claims_of(paper_id) if claim["kind"] != "relation"}
    lines = {line["claim"]: line for line in TABLES[paper_id] if line["claim"] in judged}
    assert len(lines) == len(judged)
    for name, line in lines.items():
        if line["verdict"] == "not-run":
            continue
        own = re.search(r"Ours alone: (\w+)$", line["remark"]) if line["verdict"] == "contradicted" else None
        said = own[1] if own else line["verdict"]
        assert said in _verdicts_of(judged[name], line["measured"].split(" ± ")[0]), (name, line, judged[name])


def test_a_printed_mean_beside_a_border_allows_both_verdicts() -> None:
    claim = {"tight_lo": 1.0, "tight_hi": 1.2, "loose_lo": 0.9, "loose_hi": 1.25}
    printed = {"0.999": {"loose"}, "1": {"tight", "loose", "failed"}, "1.0": {"tight", "loose"}, "1.249": {"loose"}}
    printed |= {"1.25": {"loose", "failed"}, "-1.1": {"failed"}, "0.8996": {"failed"}, "1.11": {"tight"}}
    assert {text: _verdicts_of(claim, text) for text in printed} == printed


def _verdicts_of(claim: dict[str, Any], printed: str) -> set[str]:
    """Verdicts of every mean that is rounded to `printed`."""
    mean = float(printed)
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    lowest, highest = mean - half, mean + half
    bands = {band: (claim[f"{band}_lo"], claim[f"{band}_hi"]) for band in ("tight", "loose")}
    borders = {border for ends in bands.values() for border in ends if lowest <= border <= highest}
    means = {lowest, mean, highest, *borders}
    return {next((band for band, (lo, hi) in bands.items() if lo <= one <= hi), "failed") for one in means}


@pytest.mark.parametrize("paper_id", PAPERS)
def test_each_claim_that_fails_says_what_came_nearest(paper_id: str) -> None:
    """And no other one does: what came nearest is of no use where the claim is met or contradicted."""
    failed = {line["claim"]: line["remark"] for line in TABLES[paper_id] if line["verdict"] == "failed"}
    assert failed == dict(paper(paper_id).about.NEAREST)


@pytest.mark.parametrize("paper_id", ["gao2015", "cs244-2015"])
def test_what_real_programs_gave_stands_beside_the_simulator(paper_id: str) -> None:
    rows = PAGE["rows_of"](TEXT, f"{paper_id} emulated")
    lines = {line["claim"]: line for line in TABLES[paper_id]}
    about = {claim["id"]: claim for claim in claims_of(paper_id)}
    needed = {name for name, claim in about.items() if claim["engine"] == "emulate"}
    assert needed <= {cells[0] for cells in rows} <= about.keys() and rows
    for name, what, published, simulated, emulated, verdict in rows:
        line = lines[name]
        assert (what, published) == (line["what"], line["published"]), name
        assert simulated == line["measured"].removeprefix("simulated: "), name
        assert emulated and verdict in VERDICTS
        assert (verdict == "not-run") == (about[name]["engine"] != "emulate")


def test_a_claim_about_simulations_is_told_of_real_programs_and_not_judged() -> None:
    [claim] = [claim for claim in claims_of("gao2015") if claim["id"] == "S1-F13-loss"]
    told = judge([claim], None)[0] | {"emulated": 0.0123}
    assert PAGE["emulated_row"](told)[4:] == ["0.0123", "not-run"]


def test_the_counts_are_those_of_the_tables() -> None:
    rows = PAGE["rows_of"](TEXT, "counts")
    assert [row[0] for row in rows] == [*(f"[{name}](#{name})" for name in PAPERS), "all"]
    total: Counter[str] = Counter()
    for paper_id, row in zip(PAPERS, rows, strict=False):
        counted = Counter(line["verdict"] for line in TABLES[paper_id])
        assert [int(cell) for cell in row[1:]] == [counted.total(), *(counted[name] for name in VERDICTS)]
        total += counted
    assert [int(cell) for cell in rows[-1][1:]] == [total.total(), *(total[name] for name in VERDICTS)]


def test_a_table_is_written_from_verdicts_and_read_again(tmp_path: Path) -> None:
    claims = claims_of("nichols2012")
    verdicts = judge(claims, None)
    verdicts[0] |= {"verdict": "failed", "measured": False, "share": 0.3, "metric": "a | b"}
    text = replace_part(TEXT, "table", "nichols2012", table(PAGE["HEADINGS"], map(PAGE["row"], verdicts[1:])))
    assert [cells[0] for cells in PAGE["rows_of"](text, "nichols2012")] == [claim["id"] for claim in claims[1:]]
    assert PAGE["rows_of"](text, "nichols2012")[0][3:5] == ["–", "not-run"]
    line = table(("x",), [[verdicts[0]["metric"]]])[-1]
    assert line == r"| a \| b |"
    assert PAGE["rows_of"](text, "gao2015") == PAGE["rows_of"](TEXT, "gao2015")
