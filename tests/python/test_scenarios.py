"""All files in scenarios/ are valid and run; the exported schema accepts them and rejects what the core rejects."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sojourn as sj
from conftest import REPO, SHORT, Cli, printed_json
from sojourn import engines
from sojourn.base.inputs import parse_toml
from sojourn.studies.drawn import drawn_text
from sojourn.studies.study import read_document

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILES = [path for folder in ("", "media", "bbr") for path in sorted((REPO / "scenarios" / folder).glob("*.toml"))]
FILES += sorted((REPO / "python" / "sojourn" / "papers").rglob("*.toml"))


def _is_study(path: Path) -> bool:
    return "sweep" in read_document(path)


def test_there_are_scenarios_and_studies() -> None:
    assert sum(not _is_study(path) for path in FILES) >= 5
    assert sum(_is_study(path) for path in FILES) >= 2


@pytest.mark.parametrize("path", [p for p in FILES if not _is_study(p)], ids=lambda path: path.stem)
def test_scenario_runs(cli: Cli, path: Path) -> None:
    found = printed_json(cli("run", path, "--json"))
    assert found["summary"]["links"]["forward"]["packets"] > 1000


@pytest.mark.parametrize("path", [p for p in FILES if _is_study(p) and "papers" not in p.parts], ids=lambda p: p.stem)
def test_study_runs(path: Path) -> None:
    """Every point, with one seed."""
    study = sj.Study.load(path, seeds=1)
    packets = study.run().table["packets"]
    assert len(packets) == len(study.points) and packets.min() > 1000


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_schema_accepts(validator: Any, path: Path) -> None:
    document = read_document(path)
    if "draw" in document:
        document = parse_toml(drawn_text(path, None))
    document.pop("sweep", None)
    validator.validate(document)


@pytest.mark.parametrize("path", [p for p in FILES if not _is_study(p)], ids=lambda path: path.stem)
def test_schema_accepts_the_canonical_form(validator: Any, path: Path) -> None:
    validator.validate(sj.Scenario.load(path).document)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('rate = "10 Mbit/s"', 'rates = "10 Mbit/s"'),
        ('rate = "10 Mbit/s"', 'rate = "10"'),
        ('rate = "10 Mbit/s"', "rate = 10"),
        ('aqm = "codel"', 'aqm = "codle"'),
        ('kind = "tcp"', 'kind = "tpc"'),
        ("count = 2", "count = 0"),
    ],
)
def test_schema_refuses(validator: Any, old: str, new: str) -> None:
    assert validator.is_valid(tomllib.loads(SHORT))
    assert not validator.is_valid(tomllib.loads(SHORT.replace(old, new)))
    with pytest.raises(sj.InputError):
        sj.Scenario.parse(SHORT.replace(old, new))


def test_poisson_scenario_has_the_textbook_s_wait() -> None:
    """M/D/1: the mean wait is rho / (2 (1 - rho)) service times; for rho = 0.8 and 1.2 ms that is 2.4 ms."""
    scenario = sj.Scenario.load(REPO / "scenarios" / "poisson.toml")
    waits = [scenario.run(seed).summary["sojourn_mean_ms"][0] for seed in range(1, 5)]
    assert sum(waits) / len(waits) == pytest.approx(2.4, rel=0.05)


def test_tcpeval_offers_the_suite_s_traffic() -> None:
    """Five streams of 640 kbit/s per direction, calls that talk 1 s of 2.35 s, fifteen web connections per second."""
    scenario = sj.Scenario.load(REPO / "scenarios" / "tcpeval.toml")
    groups = scenario.run().groups
    assert groups["kind"].to_list() == ["tcp", "tcp", "packmime", "voice", "voice", "streaming", "streaming"]
    sent = groups["sent"].to_list()
    assert [n * 840 * 8 / 100 for n in sent[5:]] == pytest.approx([3.2e6] * 2, rel=0.01)
    calls = [scenario.run(seed).groups["sent"].to_list()[3:5] for seed in range(1, 5)]
    # Forty call directions for 100 s: 1700 bursts, with a mean length accurate to 3 %.
    assert sum(map(sum, calls)) * 200 * 8 / 100 / 40 == pytest.approx(64e3 / 2.35, rel=0.1)
    assert groups["opened"][2] == pytest.approx(15 * 80, rel=0.15)
    assert groups["completion_p50_ms"][2] > 2 * 80, "handshake and request"
    assert all(1 < score < 4.5 for score in groups["mos"][3:5])


def test_parking_lot_names_its_links() -> None:
    """Long flows get less than those over one bottleneck, and every bottleneck is reported by name."""
    result = sj.Scenario.load(REPO / "scenarios" / "parking-lot.toml", {"probes.queue": "1 s"}).run()
    names = ["forward", "reverse", "second", "second reverse", "third", "third reverse"]
    assert result.links["link"].to_list() == names
    assert set(result.queue["link"].unique()) == set(names)
    rates = result.groups["goodput_bps"].to_list()
    assert all(rate > 1.5 * rates[0] for rate in rates[1:])


def test_transfers_are_recorded() -> None:
    """One row per page, in seconds, and the same number in the summary of its group."""
    result = sj.Scenario.load(REPO / "scenarios" / "pages.toml", {"duration": "12 s", "warmup": "0 s"}).run()
    pages = result.transfers.filter(pl.col("group") == 0)
    assert pages.height == result.groups["transfers"][0]
    assert set(pages["bytes"]) == {800_000}
    median_s = pages["duration_s"].quantile(0.5, interpolation="lower")
    assert result.groups["completion_p50_ms"][0] == pytest.approx(median_s * 1e3, rel=2e-3)


def test_changes_of_queues_work_on_three_engines() -> None:
    text = """
        duration = "3 s"
        [link]
        rate = "7 Mbit/s"
        [[flows]]
        kind = "tcp"
        [[changes]]
        at = "1.7 s"
        link.rate = "2 Mbit/s"
    """
    engines.check("emulate", sj.Scenario.parse(text))
    queue = sj.Scenario.parse(text.replace('link.rate = "2 Mbit/s"', 'link.aqm = "codel"'))
    engines.check("emulate", queue)
    with pytest.raises(sj.InputError, match="changes: the engine ns2 cannot change queues or losses"):
        engines.check("ns2", queue)
    engines.check("kernel", queue)
    loss = sj.Scenario.parse(text.replace('link.rate = "2 Mbit/s"', "link.loss = 0.01"))
    with pytest.raises(sj.InputError, match="the engine kernel does not support loss behind the queue"):
        engines.check("kernel", loss)
    summary = queue.run().totals["links"]["forward"]
    assert summary["dropped_by"]["replaced"] > 0
