"""The rows of docs/data/claims.csv are those of claims.json and the authors' own runs."""

from __future__ import annotations

import json
import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

from sojourn.papers import PAPERS, paper
from sojourn.papers.judge import UNKNOWN, VERDICTS, claims_of, judge, published_text
from sojourn.papers.original import add_original

DOCS = Path(__file__).parents[2] / "docs"
SCRIPT: dict[str, Any] = runpy.run_path(str(DOCS / "claims.py"))
ROWS: dict[str, list[dict[str, str]]] = {
    paper_id: [row for row in SCRIPT["rows"]() if row["paper"] == paper_id] for paper_id in PAPERS
}


@pytest.mark.parametrize("paper_id", PAPERS)
def test_every_claim_has_a_line_with_the_paper_s_statement(paper_id: str) -> None:
    claims = claims_of(paper_id)
    assert [line["claim"] for line in ROWS[paper_id]] == [claim["id"] for claim in claims]
    for claim, line in zip(claims, ROWS[paper_id], strict=True):
        [verdict] = judge([claim], None)
        assert line["metric"] == " ".join(verdict["metric"].split()), line["claim"]
        assert line["published"] == ("true" if verdict["kind"] == "relation" else published_text(verdict))
        assert line["verdict"] in VERDICTS
        assert (line["measured"] == "") == (line["verdict"] == "not-run")


@pytest.mark.parametrize("paper_id", PAPERS)
def test_verdicts_on_the_original_are_computed(paper_id: str) -> None:
    found = paper(paper_id)
    lines = {line["claim"]: line for line in ROWS[paper_id]}
    for figure in found.figures:
        claims = claims_of(paper_id, figure)
        for verdict in add_original(claims, judge(claims, None), found.original(figure)):
            line = lines[verdict["id"]]
            assert line["original"] == ("" if verdict["original"] == UNKNOWN else verdict["original"])
            contradicted = verdict["original"] == "contradicts" and line["verdict"] != "not-run"
            assert (line["verdict"] == "contradicted") == contradicted
            if contradicted:
                assert line["remark"].startswith(verdict["original_evidence"])


@pytest.mark.parametrize("paper_id", PAPERS)
def test_the_verdict_follows_from_the_printed_mean_and_the_band(paper_id: str) -> None:
    """If the original's own run contradicts a claim, the remark has its verdict."""
    judged = {claim["id"]: claim for claim in claims_of(paper_id) if claim["kind"] != "relation"}
    lines = {line["claim"]: line for line in ROWS[paper_id] if line["claim"] in judged}
    assert len(lines) == len(judged)
    for name, line in lines.items():
        if line["verdict"] == "not-run":
            continue
        own = re.search(r"Our runs alone: (\w+)$", line["remark"]) if line["verdict"] == "contradicted" else None
        message = own[1] if own else line["verdict"]
        assert message in _verdicts_of(judged[name], line["measured"].split(" ± ")[0]), (name, line, judged[name])


def test_a_printed_mean_beside_a_border_allows_both_verdicts() -> None:
    claim = {"tight_lo": 1.0, "tight_hi": 1.2, "loose_lo": 0.9, "loose_hi": 1.25}
    printed = {"0.999": {"loose"}, "1": {"tight", "loose", "failed"}, "1.0": {"tight", "loose"}, "1.249": {"loose"}}
    printed |= {"1.25": {"loose", "failed"}, "-1.1": {"failed"}, "0.8996": {"failed"}, "1.11": {"tight"}}
    assert {text: _verdicts_of(claim, text) for text in printed} == printed


def _verdicts_of(claim: dict[str, Any], printed: str) -> set[str]:
    """Verdicts of all means that round to `printed`."""
    mean = float(printed)
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    lowest, highest = mean - half, mean + half
    bands = {band: (claim[f"{band}_lo"], claim[f"{band}_hi"]) for band in ("tight", "loose")}
    borders = {border for ends in bands.values() for border in ends if lowest <= border <= highest}
    means = {lowest, mean, highest, *borders}
    return {next((band for band, (lo, hi) in bands.items() if lo <= one <= hi), "failed") for one in means}


@pytest.mark.parametrize("paper_id", PAPERS)
def test_each_failed_claim_has_the_nearest_value(paper_id: str) -> None:
    """Only failed claims have the nearest value; it is of no use if a claim is met or contradicted."""
    failed = {line["claim"]: line["remark"] for line in ROWS[paper_id] if line["verdict"] == "failed"}
    assert failed == dict(paper(paper_id).about.NEAREST)


@pytest.mark.parametrize("paper_id", ["gao2015", "cs244-2015"])
def test_real_programs_judge_only_claims_about_them(paper_id: str) -> None:
    emulated = {row["claim"]: row for row in ROWS[paper_id] if row["emulated_verdict"]}
    about = {claim["id"]: claim for claim in claims_of(paper_id)}
    assert {name for name, claim in about.items() if claim["engine"] == "emulate"} <= emulated.keys()
    for name, row in emulated.items():
        assert row["emulated"] and row["emulated_verdict"] in VERDICTS
        assert (row["emulated_verdict"] == "not-run") == (about[name]["engine"] != "emulate")
        assert (row["simulated"] == "") == (row["measured"] != ""), name


def test_a_claim_about_simulations_has_a_value_of_real_programs_and_no_verdict() -> None:
    [claim] = [claim for claim in claims_of("gao2015") if claim["id"] == "S1-F13-loss"]
    verdict = judge([claim], None)[0] | {"emulated": 0.0123}
    assert SCRIPT["emulated_row"](verdict) == {"emulated": "0.0123", "emulated_verdict": "not-run"}


def test_rows_are_written_from_verdicts_and_the_others_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "claims.csv"
    shutil.copy(SCRIPT["FILE"], file)
    monkeypatch.setitem(SCRIPT["main"].__globals__, "FILE", file)
    before = SCRIPT["rows"]()
    verdicts = judge(claims_of("nichols2012"), None)
    verdicts[0] |= {"verdict": "failed", "measured": False, "share": 0.3}
    verdicts[0]["id"] = next(iter(paper("nichols2012").about.NEAREST))
    verdicts = verdicts[:1] + [one for one in judge(claims_of("nichols2012"), None) if one["id"] != verdicts[0]["id"]]
    (tmp_path / "nichols2012").mkdir()
    (tmp_path / "nichols2012" / "a.claims.json").write_text(json.dumps(verdicts), encoding="utf-8")
    SCRIPT["main"](tmp_path)
    after = SCRIPT["rows"]()
    assert [row for row in after if row["paper"] != "nichols2012"] == [r for r in before if r["paper"] != "nichols2012"]
    written = {row["claim"]: row for row in after if row["paper"] == "nichols2012"}
    assert written.keys() == {claim["id"] for claim in claims_of("nichols2012")}
    assert written[verdicts[0]["id"]]["remark"] == paper("nichols2012").about.NEAREST[verdicts[0]["id"]]
    assert [row["verdict"] for name, row in written.items() if name != verdicts[0]["id"]] == ["not-run"] * 2
