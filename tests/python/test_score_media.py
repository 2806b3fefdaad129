"""Rows of the scorecard with calls: RFC 8867's test cases, and the definitions of their metrics."""

from __future__ import annotations

import pytest

import sojourn as sj
from conftest import REPO
from sojourn.model.analysis import media
from sojourn.studies.score import ROWS
from sojourn.studies.score.plan import ScoreSettings, plan
from sojourn.studies.score.profiles import PROFILES
from sojourn.studies.study import read_document

CASES = {
    "media-steps": "5.1",
    "media-steps-two": "5.2",
    "media-reports": "5.3",
    "media-three": "5.4",
    "media-rtt": "5.5",
    "media-long": "5.6",
    "media-short": "5.7",
    "media-pause": "5.8",
}


def test_every_case_is_a_row() -> None:
    assert set(CASES) == {name for name, row in ROWS.items() if row.section == "rmcat"}
    assert {f"{case}.toml" for case in CASES.values()} == {
        path.name for path in (REPO / "scenarios" / "media").glob("*.toml")
    }


@pytest.mark.parametrize("name", CASES)
def test_a_row_is_the_case_of_the_media_page(name: str) -> None:
    row = read_document(REPO / "scenarios" / "score" / f"{name}.toml")
    case = read_document(REPO / "scenarios" / "media" / f"{CASES[name]}.toml")
    swept = row.pop("sweep")
    del case["name"], case["probes"]
    assert row == case
    calls = [place for place, flow in enumerate(case["flows"]) if flow["kind"] == "media"]
    assert ", ".join(f"flows.{place}.control" for place in calls) in swept


@pytest.mark.parametrize("name", CASES)
def test_neither_profile_nor_quick_changes_a_case(name: str) -> None:
    def planned(profile: str, *, quick: bool) -> object:
        return plan(name, ScoreSettings(("codel", "droptail"), "droptail", PROFILES[profile], quick)).document

    documents = [planned(profile, quick=quick) for profile in PROFILES for quick in (False, True)]
    assert all(document == documents[0] for document in documents)


def test_numbers_of_calls() -> None:
    """Two calls and a transfer: two thirds of 0.9 Mbit/s for 4 of 6 s, then at most the calls' own rate."""
    result = sj.Scenario.parse(
        """
duration = "8 s"
warmup = "2 s"
[link]
rate = "0.9 Mbit/s@0s,7 Mbit/s@6s"
limit = "9 packets"
[[flows]]
kind = "media"
control = "gcc@unprobed"
count = 2
max_rate = "600 kbit/s"
[[flows]]
kind = "tcp"
[[flows]]
kind = "media"
control = "gcc@unprobed"
direction = "reverse"
"""
    ).run(19)
    there, back = (result.totals["groups"][group]["media"] for group in (0, 2))
    fair = 4 * 0.9e6 * 2 / 3 + 2 * 2 * 600e3
    assert media.by_fair_share(result) == pytest.approx(there["received_bps"] * 6 / fair)
    assert media.worst_queueing_delay(result) == max(one["queueing_ms"]["p95"] for one in (there, back))
    made = there["frames"] + back["frames"]
    good = sum(one["frames_whole"] - one["frames_late"] for one in (there, back))
    assert media.late_frame_share(result) == pytest.approx(1 - good / made)
    assert there["frames"] - there["frames_whole"] > 0


def test_without_calls_there_are_no_numbers_of_calls() -> None:
    result = sj.Scenario.parse('duration = "1 s"\n[link]\nrate = "2 Mbit/s"\n[[flows]]\nkind = "tcp"').run()
    assert media.by_fair_share(result) is media.worst_queueing_delay(result) is media.late_frame_share(result) is None
