"""`sojourn rehearse`: a change before and after, in three sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

import sojourn as sj
from conftest import Cli, printed_json
from sojourn.io.tc.scenario import ImportOptions, load
from sojourn.studies.rehearsal import apply_change, shaped_rate

ROUTERS = Path(__file__).parent / "routers"
BOTH = ("forward", "reverse")


def home(name: str = "openwrt-adsl.sqm", **keys: object) -> sj.Scenario:
    return sj.Scenario.parse(load(ROUTERS / name, ImportOptions()).text).replace(keys)


def aqms(scenario: sj.Scenario) -> tuple[str, str]:
    from sojourn.model.aqms.spelling import spelled_aqm

    down, up = (spelled_aqm(scenario.aqm_tables[f"{link}.aqm"]) for link in ("link", "reverse"))
    return down, up


def test_words_change_every_class_and_nothing_else() -> None:
    before, after = home(), apply_change(home(), "target 21ms", BOTH)
    for old, new in zip(aqms(before), aqms(after), strict=True):
        assert new.count("target 21ms") == 3
        assert new.replace(" target 21ms", "") == old.replace(" target 15.546ms", "")


def test_one_direction_is_changed_alone() -> None:
    before, after = home(), apply_change(home(), "target 21ms interval 210ms ecn", ("reverse",))
    assert aqms(after)[0] == aqms(before)[0]
    assert aqms(after)[1].count("target 21ms interval 210ms") == 3
    assert "noecn" not in aqms(after)[1]


@pytest.mark.parametrize(
    ("change", "down", "up"),
    [
        ("rtt 31ms", "rtt 31ms", "rtt 31ms"),
        ("no-ack-filter", "isolation dual-dsthost wash ingress", "isolation dual-srchost overhead 22"),
        ("diffserv4 dual-dsthost", "tins diffserv4 isolation dual-dsthost", "tins diffserv4 isolation dual-dsthost"),
        ("cake bandwidth 7.3mbit", "cake bandwidth 7.3Mbit", "cake bandwidth 7.3Mbit"),
        ("tbf rate 7.3mbit burst 5kb limit 30kb { pie target 9ms }", "{ pie target 9ms }", "{ pie target 9ms }"),
        ("reverse.aqm=codel", None, "codel"),
    ],
)
def test_a_change_is_words_a_queue_manager_or_a_key(change: str, down: str | None, up: str) -> None:
    before = home("openwrt-cake.sqm")
    found = aqms(apply_change(before, change, BOTH))
    assert found[0] == aqms(before)[0] if down is None else down in found[0]
    assert up in found[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("warp 9", 'no queue manager of the scenario accepts "warp 9"'),
        ("target", "target"),
        ("target soon", "target"),
        (" ", "empty; write"),
        ("link.warp=9", "link.warp"),
        ("reverse.aqm.handle=1", "changes nothing"),
    ],
)
def test_unchangeable_keys_give_a_one_line_error(cli: Cli, tmp_path: Path, change: str, message: str) -> None:
    (tmp_path / "home.toml").write_text(load(ROUTERS / "openwrt-adsl.sqm", ImportOptions()).text)
    ran = cli("rehearse", "home.toml", "--change", change)
    assert ran.exit_code == 2, ran.output
    assert message in ran.output
    assert ran.output.count("\n") == 1


@pytest.mark.parametrize(
    ("router", "change", "path", "rate"),
    [
        ("openwrt-cake.sqm", "pie target 9ms", "link.aqm", "85Mbit"),
        ("openwrt-cake.sqm", "cake", "link.aqm", "85Mbit"),
        ("openwrt-cake.sqm", "bandwidth 0bit", "link.aqm", "85Mbit"),
        ("openwrt-cake.sqm", "reverse.aqm=fq_codel", "reverse.aqm", "10Mbit"),
        ("openwrt-adsl.sqm", "fq_codel target 11ms", "link.aqm", ""),
    ],
)
def test_a_change_that_removes_the_shaper_is_refused(
    cli: Cli, tmp_path: Path, router: str, change: str, path: str, rate: str
) -> None:
    (tmp_path / "home.toml").write_text(load(ROUTERS / router, ImportOptions()).text)
    ran = cli("rehearse", "home.toml", "--change", change)
    assert ran.exit_code == 2, ran.output
    assert ran.output.count("\n") == 1
    assert f"{change}: removes the shaper of {path} ({rate}" in ran.output
    assert f"cake bandwidth {rate}" in ran.output


@pytest.mark.parametrize(
    ("spelled", "rate"),
    [
        ("fq_codel target 5ms", None),
        ("cake tins diffserv4", None),
        ("cake bandwidth 0bit", None),
        ("cake bandwidth 7.31Mbit tins besteffort", "7.31Mbit"),
        ("red limit 30000 bandwidth 10Mbit", None),
        ("fq maxrate 3Mbit", None),
        ("prio { ; tbf rate 3.3Mbit burst 5kb { codel } }", "3.3Mbit"),
        ("htb { class 1 rate 21.7Mbit ceil 21.7Mbit; class 2 parent 1 rate 1Mbit }", "21.7Mbit"),
        ("netem delay 20ms rate 911kbit", "911kbit"),
    ],
)
def test_the_outermost_shaper_sets_the_rate(spelled: str, rate: str | None) -> None:
    assert shaped_rate(spelled) == rate


def test_a_slower_line_makes_bulk_slower_and_pages_wait(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "home.toml").write_text(load(ROUTERS / "openwrt-cake.sqm", ImportOptions()).text)
    ran = cli(
        *("rehearse", "home.toml", "--change", "bandwidth 8.5mbit", "--direction", "forward", "--seeds", 3),
        *("--set", "duration=23 s", "--set", "warmup=3 s", "-o", "out", "--json"),
    )
    found = printed_json(ran)
    numbers = {(one["about"], one["name"]): one for one in found["numbers"]}
    down = numbers["bulk", "down"]
    # A tenth of the bandwidth, minus 0.2 Mbit/s for calls and games: slightly less than a tenth of the goodput.
    assert 0.05 < down["after"] / down["before"] < 0.1
    assert down["significant"]
    assert abs(down["difference"] - (down["after"] - down["before"])) < 1e-9
    assert numbers["pages", "median"]["difference"] > 0.1
    assert [sentence.partition(":")[0] for sentence in found["sentences"]] == ["Calls and games", "Pages", "Bulk"]
    assert (tmp_path / found["figure"]).stat().st_size > 10_000


def test_the_same_seed_shows_no_false_difference(cli: Cli, tmp_path: Path) -> None:
    text = load(ROUTERS / "openwrt-cake.sqm", ImportOptions()).text
    (tmp_path / "home.toml").write_text(text)
    ran = cli(
        *("rehearse", "home.toml", "--change", "memlimit 64MB", "--seeds", 2, "--set", "duration=11 s"),
        *("--set", "warmup=2 s", "-o", "out"),
    )
    assert ran.exit_code == 0, ran.output
    assert ran.output.count("as before") == 9, ran.output
