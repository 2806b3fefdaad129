"""Background transfers: their share beside a Reno flow, for different queue managers."""

from __future__ import annotations

import pytest

import sojourn as sj
from conftest import REPO
from sojourn.studies.study import read_document


def _share(aqm: str, control: str, seed: int, *, last: bool = False) -> float:
    """Share of the background flow in the payload, in percent."""
    document = read_document(REPO / "scenarios" / "background.toml")
    document.pop("sweep")
    document["link"]["aqm"] = aqm
    reno, background = document["flows"]
    background["cc"] = control
    if last:
        background["start"], reno["start"] = "10 s", "0 s"
    flows = sj.Scenario.build(document).run(seed=seed).totals["flows"]
    sent = [flow["delivered_bps"] for flow in flows if flow["direction"] == "forward"]
    return 100 * sent[1] / sum(sent)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_ledbat_yields_behind_a_long_queue_and_is_one_of_two_behind_codel(seed: int) -> None:
    # RFC 7928 section 5.4: at most 5 %, and about half.
    assert _share("droptail", "ledbat", seed) < 5
    assert 45 < _share("codel", "ledbat", seed) < 55


def test_a_late_ledbat_takes_the_queue_for_the_path_and_a_late_ledbat_plus_plus_does_not() -> None:
    assert _share("droptail", "ledbat", 1, last=True) > 10
    assert _share("droptail", "ledbat++", 1, last=True) < 5
