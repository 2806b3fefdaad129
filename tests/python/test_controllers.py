"""Design goals of BLUE, SFB, PI, REM and AVQ, in complete runs of the studies in scenarios/."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conftest import REPO, Cli, printed_json


def _run(cli: Cli, study: str, **sets: object) -> dict[str, Any]:
    """Return the summary of one cell of a study."""
    words = [word for key, value in sets.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]
    text = (REPO / "scenarios" / f"{study}.toml").read_text(encoding="utf-8")
    Path(f"{study}.toml").write_text(text.split("[sweep]")[0], encoding="utf-8")
    found: dict[str, Any] = printed_json(cli("run", f"{study}.toml", "--json", *words))["summary"]
    return found


@pytest.mark.parametrize("count", [30, 60])
@pytest.mark.parametrize(
    ("aqm", "target", "within"), [("pi ecn", 200, 0.1), ("rem@ns2 ecn mean_pktsize 500B", 20, 0.2)]
)
def test_the_queue_settles_at_the_target(cli: Cli, aqm: str, target: int, within: float, count: int) -> None:
    """Integral action: with half the flows the queue changes only by noise."""
    link = _run(cli, "controllers", link__aqm=aqm, flows__0__count=count)["links"]["forward"]
    assert link["mean_backlog_packets"] == pytest.approx(target, rel=within)
    assert link["dropped"] == 0 < link["marked"]


def test_avq_steers_the_utilisation(cli: Cli) -> None:
    """The utilisation is gamma, 98 % of the link."""
    link = _run(cli, "controllers", link__aqm="avq ecn")["links"]["forward"]
    assert link["utilisation"] == pytest.approx(0.98, abs=0.005)


def test_sfb_limits_unresponsive_traffic_and_blue_does_not(cli: Cli) -> None:
    """Unresponsive traffic at twice the link's rate leaves TCP 5 % with tail drop and BLUE, over half with SFB."""
    goodput = {
        aqm: _run(cli, "unresponsive", link__aqm=aqm)["groups"][0]["goodput_bps"] / 1e7
        for aqm in ("droptail", "blue", "sfb")
    }
    assert goodput["droptail"] < 0.05 and goodput["blue"] < 0.05
    assert goodput["sfb"] > 0.5


def test_dualpi2_keeps_ect1_short_and_classic_at_its_target(cli: Cli) -> None:
    """The mean sojourn time is at most 1 ms for ECT(1), and the target for the others."""
    for aqm in ("dualpi2", "dualpi2@linux"):
        summary = _run(cli, "l4s", link__aqm=aqm)
        link, (classic, l4s) = summary["links"]["forward"], summary["groups"]
        assert link["utilisation"] > 0.99
        # A tenth of the packets hardly waits, the rest for about the target of 15 ms.
        assert link["sojourn_ms"]["mean"] == pytest.approx(0.9 * 15, rel=0.15)
        # Half of the RTT, the transmission time of 0.3 ms, and the sojourn time.
        assert l4s["loss_rate"] == 0 and l4s["delay_ms"] < 1.5
        assert classic["goodput_bps"] > 34e6


def test_only_the_selector_s_packets_are_marked_early(cli: Cli) -> None:
    plain = _run(cli, "l4s", link__aqm="fq_codel@linux")["links"]["forward"]
    selected = "fq_codel@linux ce_threshold 300us ce_threshold_selector"
    ect1 = _run(cli, "l4s", link__aqm=f"{selected} 0x1/0x3")["links"]["forward"]
    ect0 = _run(cli, "l4s", link__aqm=f"{selected} 0x2/0x3")["links"]["forward"]
    # A tenth of the packets has ECT(1); TCP's packets wait longer, and are the rest.
    assert plain["mark_rate"] < ect1["mark_rate"] < 0.1 < ect0["mark_rate"]
