"""`import tc` of devices and inputs: names, the default route, guesses, standard input, several outputs in one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import sojourn as sj
from conftest import printed_json
from sojourn.apps.cli import cli as group
from sojourn.io.tc.scenario import ImportedScenario, ImportOptions, import_text

CAKE, FQ = "qdisc cake 1: dev {} root bandwidth {}Mbit\n", "qdisc fq_codel 0: dev {} root limit 10240p\n"


def imported(text: str) -> ImportedScenario:
    return import_text(text, "a", ImportOptions())


def sides(found: ImportedScenario) -> tuple[str, str]:
    """Devices that send to the home and from it; empty if there is none."""
    names = [sentence.split(": ", 1)[1].split(",")[0] for sentence in found.understood]
    return tuple("" if name == "not specified" else name for name in names)  # type: ignore[return-value]


@pytest.mark.parametrize(
    "inside", ["br-lan", "lan", "lan0", "br0", "wlan0", "phy0-ap0", "eth0.1", "br-guest", "vlan1", "se00"]
)
@pytest.mark.parametrize(
    "outside", ["wan", "pppoe-wan", "ppp0", "eth0.2", "eth1", "wwan0", "wan.35", "vlan2", "ge00", "ptm0.7"]
)
def test_names_have_sides(inside: str, outside: str) -> None:
    for text in (
        CAKE.format(inside, 90) + CAKE.format(outside, 10),
        CAKE.format(outside, 10) + CAKE.format(inside, 90),
    ):
        found = imported(text)
        assert sides(found) == (inside, outside)
        assert any("by their names" in one for one in found.assumed) and found.notes == ()


@pytest.mark.parametrize("name", ["br-lan", "lan1", "br0"])
def test_a_device_of_the_home_alone(name: str) -> None:
    found = imported(CAKE.format(name, 90))
    assert sides(found) == (name, "") and any(f"{name} faces the home, by its name" in one for one in found.assumed)


@pytest.mark.parametrize("name", ["eth0", "wan", "wlan0"])
def test_any_other_device_alone_sends_to_the_internet(name: str) -> None:
    found = imported(CAKE.format(name, 9))
    assert sides(found) == ("", name) and any(f"{name} sends to the Internet" in one for one in found.assumed)


ROUTES = [
    "default via 192.0.2.1 dev {0} proto static src 192.0.2.7\n192.0.2.0/24 dev {0} scope link\n",
    "default dev {0} scope link metric 20\n",
    "default proto static metric 9 \n\tnexthop via 192.0.2.1 dev {0} weight 1 \n\tnexthop dev c0 weight 1 \n",
    '[{{"dst":"default","nexthops":[{{"via":{{}},"dev":"{0}","weight":1}},{{"dev":"c0"}}]}}]\n',
    '[{{"dst":"default","gateway":"192.0.2.1","dev":"{0}","flags":[]}},{{"dst":"192.0.2.0/24","dev":"{0}"}}]\n',
]


@pytest.mark.parametrize("route", ROUTES)
def test_the_default_route_faces_the_internet(route: str) -> None:
    both = CAKE.format("eth0", 90) + CAKE.format("eth1", 10)
    for outside, inside in (("eth0", "eth1"), ("eth1", "eth0")):
        for text in (both + route.format(outside), route.format(outside) + both):
            found = imported(text)
            assert sides(found) == (inside, outside)
            assert not any("sends to the Internet" in one for one in found.assumed)
    found = imported(CAKE.format("eth7", 90) + FQ.format("eth1") + route.format("eth1"))
    assert sides(found) == ("eth7", "")


def test_an_ifb_of_the_home_sends_to_the_internet() -> None:
    # `download` of sqm-scripts on br-lan is what comes from the home.
    found = imported(CAKE.format("br-lan", 90) + CAKE.format("ifb4br-lan", 10))
    assert sides(found) == ("br-lan", "ifb4br-lan") and any("br-lan faces the home" in one for one in found.assumed)
    found = imported(CAKE.format("eth1", 10) + CAKE.format("ifb4eth1", 90))
    assert sides(found) == ("ifb4eth1", "eth1") and not any("eth1 sends" in one for one in found.assumed)


SQM = """config queue 'lan'
 option enabled '1'
 option interface 'br-lan'
 option download '0'
 option upload '90000'
 option script 'piece_of_cake.qos'
 option qdisc 'cake'
config queue 'wan'
 option enabled '1'
 option interface '{}'
 option download '0'
 option upload '10000'
 option script 'piece_of_cake.qos'
 option qdisc 'cake'
"""


def test_sections_of_sqm_have_their_sides() -> None:
    for outside in ("eth0.2", "wan", "eth1", "pppoe-wan"):
        document = sj.Scenario.parse(imported(SQM.format(outside)).text).document
        assert document["link"]["aqm"]["bandwidth"] == "90 Mbit/s"
        assert document["reverse"]["aqm"]["bandwidth"] == "10 Mbit/s"
    routed = SQM.format("x1").replace("br-lan", "x0") + ROUTES[0].format("x0")
    assert sides(imported(routed)) == ("x1", "x0")


def test_options_of_sqm_that_are_unknown_are_said() -> None:
    text = SQM.format("wan").removesuffix(" option qdisc 'cake'\n")
    found = imported(f"{text} option shaper_burst '1'\n option qdisc 'cake_mq'\n")
    assert found.notes == ("line 14: option shaper_burst '1'", "line 15: option qdisc 'cake_mq': cake is used")
    assert imported(SQM.format("wan").replace("'90000'", "'90000'\n option verbosity '5'")).notes == ()


def test_guesses_are_comments_and_a_heading() -> None:
    found = imported(CAKE.format("eth0", 9))
    for sentence in (
        "line 1: eth0 sends to the Internet; --download and --upload choose",
        "the line behind the shaper",
    ):
        assert any(sentence in one for one in found.assumed)
    assert all(f"# Assumed: {one}\n" in found.text for one in found.assumed) and len(found.assumed) == 2
    assert not import_text(CAKE.format("eth0", 9), "a", ImportOptions(upload="eth0", rate="1 Gbit/s")).assumed


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = CAKE.format("eth1", 9) + CAKE.format("ifb4eth1", 41)
    ran = CliRunner().invoke(group, ["import", "tc", "-", "-o", "out.toml", "--json"], input=text)
    reported = printed_json(ran)
    assert len(reported["understood"]) == 2 and len(reported["assumed"]) == 2 and reported["not_understood"] == []
    assert sj.Scenario.load("out.toml").document["link"]["aqm"]["bandwidth"] == "41 Mbit/s"
    for given, message in ((b"", "standard input: no queue discipline in it"), (b"\xff\xfd", "byte 0 is not UTF-8")):
        ran = CliRunner().invoke(group, ["import", "tc", "-"], input=given)
        assert ran.exit_code == 2 and message in ran.output


HTB = [
    {"kind": "htb", "handle": "1:", "dev": "eth1", "root": True, "options": {"r2q": 10, "default": "0x10"}},
    {"kind": "fq_codel", "handle": "110:", "dev": "eth1", "parent": "1:10", "options": {"target": 17700}},
]
CLASS = {"class": "htb", "handle": "1:10", "root": True, "rate": 102500, "ceil": 102500, "burst": 1600, "cburst": 1600}


def test_outputs_after_one_another_and_mixed() -> None:
    route = ROUTES[0].format("eth1")
    classes = "class htb 1:10 root prio 0 rate 820Kbit ceil 820Kbit burst 1600b cburst 1600b\n"
    qdiscs = "qdisc htb 1: dev eth1 root r2q 10 default 0x10\nqdisc fq_codel 110: dev eth1 parent 1:10 target 17.7ms\n"
    meant = sj.Scenario.parse(imported(qdiscs + classes + route).text)
    for text in (
        json.dumps(HTB) + "\n" + json.dumps([CLASS]) + "\n",
        json.dumps(HTB) + json.dumps([CLASS]),
        json.dumps(HTB, indent=2) + "\n" + classes + route,
        classes + json.dumps(HTB) + "\n" + route,
        "# tc class show dev eth1\n" + classes + "# tc -s qdisc\n" + qdiscs,
    ):
        assert sj.Scenario.parse(imported(text).text).document == meant.document, text


def test_places_in_mixed_inputs_are_lines() -> None:
    odd = [{**HTB[1], "parent": "9:9"}]
    found = imported(CAKE.format("eth1", 9) + json.dumps(odd) + "\n")
    assert found.notes == ("line 2: fq_codel 110:, parent 9:9: there is no qdisc 9:; it is left out",)
    found = imported(json.dumps([{**HTB[0], "kind": "cake", "options": {"bandwidth": 1125000}}, *odd]))
    assert found.notes == ("entry 2: fq_codel 110:, parent 9:9: there is no qdisc 9:; it is left out",)
