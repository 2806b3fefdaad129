"""`sojourn rehearse`: a change before and after, in three sentences."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

import sojourn as sj
from conftest import Cli, printed_json
from sojourn.io.tc.scenario import ImportOptions, load
from sojourn.studies.change import apply_change, apply_changes
from sojourn.studies.shaping import shaping

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
        ("openwrt-cake.sqm", "cake unlimited", "link.aqm", "85Mbit"),
        ("openwrt-cake.sqm", "bandwidth 0bit", "link.aqm", "85Mbit"),
        ("openwrt-cake.sqm", "reverse.aqm=fq_codel", "reverse.aqm", "10Mbit"),
        ("openwrt-cake.sqm", "up:cake bandwidth 2gbit", "reverse.aqm", "10Mbit"),
        ("openwrt-adsl.sqm", "link.aqm=fq_codel", "link.aqm", "85Mbit"),
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
    assert f"--change {path.removesuffix('.aqm')}.rate=RATE" in ran.output


def test_a_stated_line_may_become_the_bottleneck() -> None:
    for rate in ("50mbit", "1gbit"):  # the second is equal to the assumed one
        after = apply_changes(home("openwrt-cake.sqm"), [f"link.rate={rate}", "link.aqm=fq_codel"], BOTH)
        assert aqms(after)[0] == "fq_codel"


SHAPED = {
    "cake": 'aqm = "cake bandwidth 30Mbit overhead 44 mpu 88"\nlimit = "100000 packets"',
    "tbf": 'aqm = "tbf rate 30Mbit burst 5kb limit 30kb { fq_codel }"\nlimit = "10240 packets"',
    "tbf alone": 'aqm = "tbf rate 30Mbit burst 5kb limit 30kb"',
    "htb": """aqm = "htb default 2 { class 1 rate 30Mbit; class 2 parent 1 rate 10Mbit ceil 30Mbit { fq_codel } }"
limit = "10240 packets\"""",
    "mq": 'aqm = "cake_mq bandwidth 30Mbit"',
}
"""Downlinks of 30 Mbit/s."""


def shaped(down: str) -> sj.Scenario:
    return sj.Scenario.parse(
        f"""duration = "6 s"
        warmup = "2 s"
        reverse = {{ rate = "1 Gbit/s", aqm = "cake bandwidth 8Mbit", limit = "100000 packets" }}
        flows = [{{ kind = "tcp", rtt = "20 ms" }}, {{ kind = "tcp", rtt = "20 ms", direction = "reverse" }}]
        [link]
        rate = "1 Gbit/s"
        {SHAPED[down]}
        """
    )


@pytest.mark.parametrize("down", SHAPED)
@pytest.mark.parametrize(
    "change",
    ["cake besteffort", "cake_mq rtt 50ms", "fq_codel target 7ms", "pie target 9ms", "droptail", "codel@linux"],
)
def test_another_discipline_keeps_the_rate_of_each_direction(down: str, change: str) -> None:
    after = apply_changes(shaped(down), [change], BOTH)
    for spelled, rate_bps in zip(aqms(after), (30e6, 8e6), strict=True):
        assert shaping(spelled, {""}).rate_bps == rate_bps, spelled
        assert change.split()[0] in spelled
    result = after.run()
    down_bps, up_bps = (group["goodput_bps"] for group in result.totals["groups"])
    # Acknowledgments share the queues, so one direction may stay well below its rate.
    assert 0.1 < down_bps / 30e6 < 0.97
    assert 0.1 < up_bps / 8e6 < 0.97


def test_a_kept_rate_keeps_the_sizes_on_the_line_and_gets_the_limit_of_the_new_discipline() -> None:
    link = apply_changes(shaped("cake"), ["down:pie"], BOTH).document["link"]
    assert (link["overhead"], link["mpu"], link["limit"]) == ("44 B", "88 B", "1000 packets")
    assert "overhead 44 mpu 88" in aqms(apply_changes(shaped("cake"), ["cake besteffort"], BOTH))[0]
    assert "overhead 18" in aqms(apply_changes(shaped("cake"), ["cake overhead 18"], BOTH))[0]
    link = apply_changes(home(), ["cake"], BOTH).document["link"]
    assert (link["framing"], link["limit"]) == ("atm", "100000 packets")


def test_each_change_has_its_own_direction() -> None:
    before = home("openwrt-cake.sqm")
    after = apply_changes(before, ["down:cake bandwidth 60mbit wash", "up:rtt 33ms", "forward: nowash"], BOTH)
    down, up = aqms(after)
    assert "bandwidth 60Mbit" in down and "wash" not in down
    assert up.replace(" rtt 33ms", "") == aqms(before)[1]
    with pytest.raises(sj.InputError, match="a key names its direction itself; leave out up:"):
        apply_changes(before, ["up:reverse.rate=5mbit"], BOTH)
    with pytest.raises(sj.InputError, match='say the direction, "down:cake bandwidth 20mbit"'):
        apply_changes(before, ["cake bandwidth 20mbit"], BOTH)


@pytest.mark.parametrize(
    ("spelled", "rate_bps", "has_shaper"),
    [
        ("fq_codel target 5ms", inf, False),
        ("cake tins diffserv4", inf, False),
        ("cake bandwidth 0bit", inf, False),
        ("cake bandwidth 7.31Mbit/s tins besteffort", 7.31e6, True),
        ("red limit 30000 bandwidth 10Mbit/s", inf, False),
        ("sch_fq maxrate 3Mbit/s", inf, False),
        ("prio { ; tbf rate 3.3Mbit/s burst 5kb { codel } }", inf, True),
        ("htb default 2 { class 1 rate 21.7Mbit/s ceil 21.7Mbit/s; class 2 parent 1 rate 1Mbit/s }", 1e6, True),
        ("htb default 2 { class 2 rate 1Mbit/s ceil 4Mbit/s { tbf rate 3Mbit/s burst 5kb } }", 3e6, True),
        ("htb { class 2 rate 1Mbit/s ceil 4Mbit/s }", inf, True),
        ("netem delay 20ms rate 911kbit/s", 911e3, True),
        ("tbf rate 9Mbit/s burst 5kb { cake bandwidth 5Mbit/s }", 5e6, True),
    ],
)
def test_the_shaped_rate_is_that_of_all_flows(spelled: str, rate_bps: float, has_shaper: bool) -> None:
    found = shaping(spelled, {""})
    assert (found.rate_bps, found.has_shaper) == (rate_bps, has_shaper)


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
    for sentence, hosts in zip(found["sentences"], ("4 pairs", "1 pair", "2 pairs"), strict=True):
        assert "Rate 85 Mbit/s → 8.5 Mbit/s down, 10 Mbit/s up; assumed: " + hosts in sentence
        assert sentence.endswith("; lines of 1 Gbit/s down and 1 Gbit/s up behind the shaper.")
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


def test_sentences_tell_the_hosts_that_the_scenario_names(cli: Cli, tmp_path: Path) -> None:
    flows = [
        'kind = "tcp"\ncount = 3\nhost = "pc"',
        'kind = "cbr"\nrate = "0.1 Mbit/s"\ndirection = "reverse"\nhost = "pc"',
        'kind = "web"\nsize = "20 kB"\ninterval = "0.3 s"\ncount = 4\nhosts = 2\npeer_host = "cdn"',
        'kind = "web"\nsize = "20 kB"\ninterval = "0.3 s"\nhost = "pc"\npeer_host = "cdn"',
        'kind = "voice"',
    ]
    text = 'duration = "3 s"\n[link]\nrate = "9 Mbit/s"\naqm = "cake"\n'
    (tmp_path / "home.toml").write_text(text + "".join(f"[[flows]]\n{keys}\n" for keys in flows))
    ran = cli("rehearse", "home.toml", "--change", "fq_codel", "--seeds", 1, "-o", "out", "--json")
    calls, pages, bulk = printed_json(ran)["sentences"]
    for sentence, hosts in (
        (calls, "2 hosts at home, 2 beyond"),
        (pages, "3 hosts at home, 1 beyond"),
        (bulk, "1 host"),
    ):
        assert f"; {hosts}" in sentence and "pairs of hosts" not in sentence
