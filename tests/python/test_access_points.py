"""Access points in a graph: wireless LANs and their stations by name, in all results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import REPO, Cli, printed_json
from sojourn import InputError, Result, Scenario, load
from sojourn.engines.kernel.network import lay_out
from sojourn.figures.airtime import airtimes
from sojourn.model.analysis.labels import flatten, names_of

HOUSE = REPO / "scenarios" / "access-points.toml"
LINKS = [name for link in ("modem", "hall air", "cable", "attic air") for name in (link, f"{link} reverse")]
QUEUES = [
    *("modem", "modem reverse", "hall air", "hall air station 0", "hall air station 1", "hall air station 2"),
    *("cable", "cable reverse", "attic air", "attic air station 0"),
]
SHORT = {"duration": "6.1 s", "warmup": "1.3 s"}
PROBES = {f"probes.{name}": "true" for name in ("packets", "accesses")} | {"probes.state": "90 ms"}


@pytest.fixture(scope="module")
def result() -> Result:
    return Scenario.load(HOUSE, SHORT | PROBES).run()


def test_routes_lead_through_the_air() -> None:
    scenario = Scenario.load(HOUSE)
    assert list(scenario.links) == LINKS and list(scenario.hops) == LINKS[::2]
    down, attic, up, call = scenario.routes
    assert down == (["modem", "hall air"], ["hall air reverse", "modem reverse"])
    assert attic == (["modem", "cable", "attic air"], ["attic air reverse", "cable reverse", "modem reverse"])
    assert up == down[::-1]
    assert call == (["hall air reverse", "cable", "attic air"], ["attic air reverse", "cable reverse", "hall air"])
    assert scenario.links["hall air reverse"]["wlan_rate"] == "24.6 Mbit/s"
    assert Scenario(scenario.canonical).replace({}) == scenario


def test_every_queue_has_a_name(result: Result) -> None:
    assert result.link_names == QUEUES and result.link == "modem"
    assert result.links["link"].to_list() == LINKS
    for name in ("packets", "queue", "utilisation", "state", "histogram"):
        seen = set(getattr(result, name)["link"].unique())
        assert seen <= set(QUEUES) and {"modem", "hall air", "attic air", "attic air station 0"} <= seen, name
    sent = result.packets.filter(fate="sent").group_by("link").len()
    counted = dict(sent.iter_rows())
    assert all(counted[name] > 50 for name in QUEUES if name != "hall air station 1"), counted
    rows = {row["link"]: row for row in result.links.iter_rows(named=True)}
    inside = result.packets.filter(result.packets["time_s"] >= result.warmup_s)
    by_hop = inside.filter(inside["link"].cast(str).str.starts_with("hall air station")).filter(fate="sent")
    assert rows["hall air reverse"]["packets"] == by_hop.height > 100


def test_wireless_lans_by_name(result: Result) -> None:
    with pytest.raises(
        InputError, match="link 'modem' is not a wireless LAN; choose one with --link, in Python with at"
    ):
        _ = result.nodes
    for link, stations in (("hall air", 3), ("attic air", 1)):
        own = result.at(link)
        assert own.stations == stations and own.nodes["node"].to_list() == [
            "access point",
            *(f"station {number}" for number in range(stations)),
        ]
        attempts = result.accesses.filter(result.accesses["link"] == link)
        assert 0 < own.nodes["attempts"][0] < attempts.height
        assert own.setup["aqm"]["name"] == ("fq_codel" if stations == 3 else "codel")
    assert result.at("attic air").summary["dropped_late"][0] > 0
    assert result.at("hall air station 2").setup["aqm"]["name"] == "droptail"
    with pytest.raises(InputError, match="the summary has all stations together"):
        _ = result.at("hall air station 2").summary
    with pytest.raises(InputError, match="is unknown"):
        result.at("laptops")


def test_names_of_runs_show_the_differences_of_wireless_lans(result: Result) -> None:
    row = flatten(result)
    assert row["links.1.wlan.stations.0.count"] == 2 and row["links.3.wlan.ap_cwmin"] == 7
    assert [row[f"flows.{group}.rtt"] for group in range(3)] == ["41 ms", "37 ms", "41 ms"]
    shared = Scenario.load(HOUSE, SHORT | {"links.1.wlan.queues": "shared", "links.1.wlan.stations.0.count": 3}).run()
    texts = [str(name) for name in names_of([result, shared])]
    assert "airtime" in texts[0] and "shared" in texts[1] and "2 stations" in texts[0]


def test_results_are_stored_and_drawn(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sets = [arg for key, value in (SHORT | PROBES).items() for arg in ("--set", f"{key}={value}")]
    printed = cli("run", HOUSE, *sets, "-o", out)
    assert printed.exit_code == 0, printed.output
    assert all(name in printed.stdout for name in LINKS)
    summary = printed_json(cli("run", HOUSE, *sets, "--json"))["summary"]
    assert "wlan" not in summary and [len(hop.get("wlan", {}).get("stations", [])) for hop in summary["hops"]] == [
        3,
        0,
        1,
    ]
    [folder] = [manifest.parent for manifest in out.rglob("manifest.json")]
    assert load(folder).at("hall air").stations == 3
    airtime = tmp_path / "airtime.json"
    drawn = cli("plot", "airtime", out, "--link", "hall air", "-o", airtime)
    assert drawn.exit_code == 0, drawn.output
    shares = [station["airtime_down"] for station in summary["hops"][0]["wlan"]["stations"]]
    assert airtimes([load(folder).at("hall air")])["airtime_down"] == pytest.approx([100 * share for share in shares])
    assert "station 2" in airtime.read_text() and "station 3" not in airtime.read_text()
    for link in ("hall air", "hall air station 2", "attic air"):
        bytes_of = tmp_path / "bytes.csv"
        assert cli("plot", "bytes", out, "--link", link, "-o", bytes_of).exit_code == 0
        assert bytes_of.read_text().count("\n") > 10
    refused = cli("plot", "airtime", out, "-o", airtime)
    assert refused.exit_code == 2
    assert "link 'modem' is not a wireless LAN and has no airtime; choose one with --link" in refused.stderr


def test_other_engines_refuse_the_wireless_lan_by_name(cli: Cli) -> None:
    with pytest.raises(InputError, match=r"^links\[1\]\.wlan: the engine kernel has no wireless LAN; simulate it$"):
        lay_out(Scenario.load(HOUSE).document)
    refused = cli("run", HOUSE, "--engine", "emulate")
    assert refused.exit_code == 2 and "links[1].wlan: a wireless LAN cannot be emulated; simulate" in refused.stderr


def test_a_damaged_summary_of_a_wireless_lan_is_noticed(tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "out"
    cli("run", HOUSE, "--set", "duration=1 s", "--set", "warmup=0 s", "-o", out)
    [manifest] = out.rglob("manifest.json")
    document = json.loads(manifest.read_text())
    document["summary"]["hops"][0]["wlan"]["stations"][1]["airtime_down"] = "much"
    manifest.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"hops\[0\]\.wlan\.stations\[1\]\.airtime_down"):
        load(manifest.parent)
