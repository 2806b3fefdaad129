"""The figures of khademi2013: measurements, and relations that can be true and false."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli
from paper_checks import Row, assert_true_but_false_when_shuffled, every_figure, relations_of, table
from sojourn import Scenario
from sojourn.papers.judge import Measurements
from sojourn.papers.khademi2013 import FIGURES
from sojourn.papers.khademi2013.analysis import LOADS, PACKET_MS, TARGETS_MS, THREE, delay_ms, extreme, reductions
from sojourn.papers.khademi2013.fig12 import jitter
from sojourn.papers.khademi2013.table5 import ratios

PAPER = "khademi2013"
KEYS = {"aqm", "situation", "target_ms", "interval_ms", "rtt_ms", "flows", "ecn"}


def _by_target(row: Row) -> Row:
    """Figures 3 and 4 as described in the text."""
    target, flows = float(row["target_ms"]), float(row["flows"])
    if row["aqm"] == "ARED":
        return {
            "p10": target / 2,
            "p50": target,
            "p90": 1.5 * target,
            "spread": target,
            "g50": 9.7 if target > 1 else 9.0,
        }
    spread = flows if row["aqm"] == "CoDel" else flows + 100 / target
    return {"p10": flows, "p50": 40 + flows, "p90": flows + 90, "spread": 50 + spread, "g50": 9.7}


def _single(row: Row) -> Row:
    """Figure 2."""
    target, ared = float(row["target_ms"]), row["aqm"] == "ARED"
    goodput = {"CoDel": 8.8, "PIE": 8.7, "ARED": 8.0}[str(row["aqm"])]
    return {
        "p50": target / 2,
        "max": target * (3 if ared else 9),
        "spread": target * (1 if ared else 3),
        "g50": goodput,
    }


def _by_rtt(row: Row) -> Row:
    """Figures 7 and 8."""
    rtt, ared = float(row["rtt_ms"]), row["aqm"] == "ARED"
    return {"p50": (5 if ared else 20) + 100 / rtt, "g50": 9.7 - rtt / 1000 - 0.05 * (ared and rtt > 5)}


def _with_ecn(row: Row) -> Row:
    """Figures 13 and 14."""
    flows, ared, ecn = float(row["flows"]), row["aqm"] == "ARED", bool(row["ecn"])
    full = ecn and flows == 64
    return {
        "p10": 900.0 if full else 1.0,
        "p50": 1000.0 if full else 10 + flows * ecn * (3 if ared else 1),
        "spread": 5.0 if full else 50.0,
        "g50": 9.7 - (2 / flows if ared and ecn else 0.0),
    }


def _downloads(row: Row) -> Row:
    """Figure 9."""
    return {"r50": {"CoDel": 120.0, "PIE": 125.0, "ARED": 105.0}[str(row["aqm"])] + float(row["flows"])}


def _uploads(row: Row) -> Row:
    """Figure 10."""
    return {"t50": 500.0 if row["aqm"] == "PIE" else 400.0 + 50 * float(row["flows"])}


def _one_flow(row: Row) -> Row:
    """Figure 12."""
    flows = float(row["flows"])
    return {"mean": 10.0, "jitter": flows} if row["aqm"] == "FQ_CoDel" else {"mean": 20.0 + flows, "jitter": 1.0}


def _overall(row: Row) -> Row:
    """Section 8."""
    worse = row["situation"] in ("ECN", "WLAN, up and down") or row["flows"] == 4
    ared = row["aqm"] == "ARED"
    return {"delay_ms": 6.0 if ared else 11.0, "goodput": 9.0 if ared and worse else 9.7}


SINGLE = table({"aqm": THREE, "target_ms": TARGETS_MS}, _single)
TARGETS = table({"aqm": THREE, "target_ms": TARGETS_MS, "flows": LOADS}, _by_target)
TREND = table(
    {"interval_ms": (5.0, 30.0, 100.0), "flows": LOADS}, lambda row: dict.fromkeys(("p50", "g50"), row["interval_ms"])
)
RTTS = table({"aqm": THREE, "rtt_ms": (5.0, 100.0, 500.0), "flows": LOADS}, _by_rtt)
ONE_FLOW = table({"aqm": ("CoDel", "FQ_CoDel"), "flows": LOADS}, _one_flow)
ECN = table({"aqm": THREE, "ecn": (False, True), "flows": (4, 16, 32, 64)}, _with_ecn)
SITUATIONS = (
    *(f"target {target:g} ms" for target in TARGETS_MS),
    "RTT 5 ms",
    "RTT 500 ms",
    "ECN",
    "WLAN, down",
    "WLAN, up and down",
)
OVERALL = table({"aqm": THREE, "situation": SITUATIONS, "flows": LOADS}, _overall)
AS_PUBLISHED = {
    "fig2": SINGLE,
    "fig3": TARGETS,
    "fig4": TARGETS,
    "fig6": TREND,
    "fig7-8": RTTS,
    "fig9": table({"aqm": THREE, "flows": LOADS}, _downloads),
    "fig10": table({"aqm": THREE, "flows": LOADS}, _uploads),
    "fig12": ONE_FLOW,
    "fig13": ECN,
    "fig14": ECN,
    "overall": OVERALL,
}
"""One row per cell, with values that satisfy the paper's claims."""

RELATIONS = relations_of(PAPER)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("paper")


@pytest.fixture(scope="module")
def measured(out: Path) -> dict[str, Measurements]:
    """All figures, measured with one seed."""
    return {figure: done.measured for figure, done in every_figure(PAPER, out).items()}


def test_the_whole_paper(cli: Cli, measured: dict[str, Measurements], out: Path) -> None:
    assert measured
    result = cli("reproduce", PAPER, "--seeds", "1", "-o", out, "--claims", "--json")
    claims = json.loads(result.stdout)
    assert not [claim["id"] for claim in claims if claim["verdict"] == "not-run"]
    assert len(claims) == 61
    for figure in FIGURES:
        for suffix in (".png", ".svg", ".claims.json", ".parquet"):
            assert (out / PAPER / f"{figure}{suffix}").stat().st_size > 200
    [overall] = [claim for claim in claims if claim["figure"] == "overall"]
    assert (overall["verdict"], overall["places"]) == ("failed", 19)
    assert "Nearest: false at 6 of 19 places" in (out / PAPER / "index.html").read_text()


def test_one_seed_measures_the_paper_s_quantities(measured: dict[str, Measurements]) -> None:
    """Values that every seed comes close to, one per figure."""
    near = {
        "S3-1flow-ARED-min": 7.1,
        "S3-F4-heavy": 9.75,
        "S3-F5-lat-max": 0.78,
        "S3-F9-CoDel": 23.6,
        "S3-F10-light": 400.0,
        "S3-F10-CoDel-mod": 1130.0,
        "S3-F11-p50-max": 0.82,
        "S3-T5-PIE-8": 1.37,
        "S3-T5-ARED-16": 4.4,
    }
    samples = {claim: values for one in measured.values() for claim, values in one.samples.items()}
    for claim, value in near.items():
        assert samples[claim][0] == pytest.approx(value, rel=0.1), claim


@pytest.mark.parametrize("claim", RELATIONS)
def test_a_relation_holds_for_the_paper_and_fails_when_shuffled(claim: str, measured: dict[str, Measurements]) -> None:
    figure, relation = RELATIONS[claim]
    cells = AS_PUBLISHED[figure]
    assert_true_but_false_when_shuffled(relation, cells, KEYS)
    assert isinstance(relation(measured[figure].cells.drop("seed")), bool)  # our cells have the required columns


def test_leaving_out_marked_packets_marks_fewer(measured: dict[str, Measurements]) -> None:
    """Recommendation of section 7: ARED over-marks less at every load, CoDel in a full queue."""
    cells = measured["table5"].cells
    ared = cells.filter(pl.col("aqm") == "ARED").pivot("variant", index="flows", values="ratio")
    assert (ared["CE excluded"] < ared[""]).all()
    codel = cells.filter((pl.col("aqm") == "CoDel") & (pl.col("flows") == 64))
    assert dict(codel.select("variant", "ratio").iter_rows())["CE excluded"] < 4


def test_a_limit_on_marking_makes_pie_drop(measured: dict[str, Measurements]) -> None:
    pie = measured["table5"].cells.filter((pl.col("variant") == "limit of 10 %") & (pl.col("flows") == 64))
    assert pie["ratio"][0] < 0.01


def test_the_queueing_delay_includes_the_transmission() -> None:
    """Departures from the log: a link sends packets one after the other, without gaps."""
    text = """
        duration = "5 s"
        [link]
        rate = "10 Mbit/s"
        framing = "ethernet-wire"
        account = "ip"
        delay = "50 ms"
        aqm = "codel@linux-3.10"
        below = "1514 B"
        [[flows]]
        kind = "tcp"
        cc = "reno"
        stack = "linux-3.8"
        count = 4
        access_rate = "100 Mbit/s"
        [probes]
        packets = true
    """
    log = Scenario.parse(text).run().packets
    sent = log.filter((pl.col("link") == "forward") & (pl.col("fate") == "sent"))
    free_ms, before, waited = 0.0, 0, 0
    for time_s, sojourn_ms, size in sent.select("time_s", "sojourn_ms", "bytes").iter_rows():
        free_ms = max(free_ms, 1000 * time_s) + max(size + 38, 84) * 8 / 10_000
        if size == before == 1500:  # not after a connection's first packets, which are small
            more_ms = free_ms - (1000 * time_s - sojourn_ms) - delay_ms(sojourn_ms)
            assert -0.001 < more_ms < (0.001 if sojourn_ms > 0 else PACKET_MS + 0.001)
            waited += sojourn_ms > 0
        before = size
    assert waited > 1000


def test_extremes_are_taken_of_the_means() -> None:
    cells = pl.DataFrame({"target_ms": [1, 1, 5, 5], "g": [1.0, 9.0, 4.0, 5.0]})
    assert extreme(cells, "g", ["target_ms"], highest=False) == [4.0, 5.0]
    assert extreme(cells, "g", ["target_ms"], highest=True) == [1.0, 9.0]


def test_reductions_compare_the_same_load_and_seed() -> None:
    cells = pl.DataFrame(
        {"aqm": ["a", "a", "b", "b"], "flows": [4, 16, 4, 16], "seed": [1] * 4, "p50": [10.0, 20.0, 5.0, 30.0]}
    )
    assert reductions(cells, ("p50",), "aqm", "a").sort("flows")["p50"].to_list() == [0.5, -0.5]


def test_ratios_are_of_the_same_aqm_load_and_seed() -> None:
    cells = pl.DataFrame(
        {
            "aqm": ["CoDel", "PIE", "CoDel", "PIE"],
            "variant": [""] * 4,
            "flows": [4] * 4,
            "seed": [1] * 4,
            "ecn": [False, False, True, True],
            "drop_rate": [0.01, 0.02, 0.0, 0.0],
            "mark_rate": [0.0, 0.0, 0.03, 0.01],
        }
    )
    assert ratios(cells)["ratio"].to_list() == pytest.approx([3.0, 0.5])


def test_jitter() -> None:
    assert jitter(pl.Series([1.0, 3.0, 0.0])) == pytest.approx(2.5)
