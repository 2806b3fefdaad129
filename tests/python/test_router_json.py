"""`import tc` of `tc -j` output, of disciplines replaced by the nearest one, and of further kinds of filters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from conftest import Cli, printed_json
from sojourn.io.tc.scenario import ImportedScenario, ImportOptions, import_text, load

CAKE = {
    "kind": "cake",
    "handle": "8005:",
    "dev": "eth1",
    "root": True,
    "refcnt": 2,
    "options": {
        "bandwidth": 2250000,
        "diffserv": "diffserv4",
        "flowmode": "dual-srchost",
        "nat": True,
        "wash": False,
        "ingress": False,
        "ack-filter": "enabled",
        "split_gso": True,
        "rtt": 30000,
        "raw": False,
        "atm": "ptm",
        "overhead": 30,
        "mpu": 68,
        "fwmark": "0",
    },
    "bytes": 1841939,
    "tins": [{"threshold_rate": 140625, "drops": 3}],
}
"""Format of iproute2's `cake_print_opt`."""
TBF = [
    {
        "kind": "tbf",
        "handle": "1:",
        "dev": "eth0",
        "root": True,
        "refcnt": 2,
        "options": {"rate": 1250000, "burst": 5120, "lat": 50000},
        "bytes": 0,
    },
    {"kind": "bfifo", "handle": "2:", "dev": "eth0", "parent": "1:1", "options": {"limit": 60000}, "qlen": 0},
]
"""Output of tc 6.1."""
TEXTS = {
    "cake": (
        CAKE,
        "qdisc cake 8005: dev eth1 root refcnt 2 bandwidth 18Mbit diffserv4 dual-srchost nat nowash ack-filter "
        "split-gso rtt 30ms ptm overhead 30 mpu 68",
    ),
    "tbf": (
        TBF,
        "qdisc tbf 1: dev eth0 root refcnt 2 rate 10Mbit burst 5Kb lat 50ms\n"
        "qdisc bfifo 2: dev eth0 parent 1:1 limit 60000b",
    ),
    "fq_codel": (
        {
            "kind": "fq_codel",
            "handle": "0:",
            "dev": "eth2",
            "root": True,
            "options": {
                "limit": 10240,
                "flows": 1024,
                "quantum": 1514,
                "target": 4999,
                "interval": 99999,
                "memory_limit": 33554432,
                "ecn": True,
                "drop_batch": 64,
            },
        },
        "qdisc fq_codel 0: dev eth2 root limit 10240p flows 1024 quantum 1514 target 4999us interval 99999us "
        "memory_limit 32Mb ecn drop_batch 64",
    ),
    "netem": (
        {
            "kind": "netem",
            "handle": "9:",
            "dev": "eth3",
            "root": True,
            "options": {
                "limit": 1500,
                "delay": {"delay": 0.0173, "jitter": 0.004, "correlation": 0.25},
                "loss-random": {"loss": 0.013, "correlation": 0},
                "rate": {"rate": 912500, "packetoverhead": 0, "cellsize": 0, "celloverhead": 0},
                "ecn": False,
                "gap": 0,
            },
        },
        "qdisc netem 9: dev eth3 root limit 1500 delay 17.3ms 4ms 25% loss 1.3% rate 7300Kbit",
    ),
}
WANTED = ImportOptions(rate="93 Mbit/s")


def _scenario(found: ImportedScenario) -> dict[str, Any]:
    document = sj.Scenario.parse(found.text).document
    return {key: document[key] for key in ("link", "reverse")}


@pytest.mark.parametrize("name", TEXTS)
def test_json_and_text_are_the_same_scenario(name: str) -> None:
    reported, text = TEXTS[name]
    array = json.dumps(reported if isinstance(reported, list) else [reported], indent=1)
    one, other = import_text(array, "a", WANTED), import_text(text, "a", WANTED)
    assert _scenario(one) == _scenario(other)
    assert one.understood == other.understood and not one.notes


def test_classes_and_filters_of_json(tmp_path: Path) -> None:
    qdiscs = [
        {"kind": "htb", "handle": "1:", "dev": "eth0", "root": True, "options": {"r2q": 10, "default": "0x20"}},
        {"kind": "fq_codel", "handle": "20:", "dev": "eth0", "parent": "1:20", "options": {"target": 5001}},
    ]
    own = {"class": "htb", "rate": 437500, "ceil": 1187500, "burst": 1599, "cburst": 1599, "prio": 1}
    classes = [
        {
            "class": "htb",
            "handle": "1:1",
            "root": True,
            "rate": 1187500,
            "ceil": 1187500,
            "burst": 1599,
            "cburst": 1599,
        },
        {**own, "handle": "1:10", "parent": "1:1"},
        {**own, "handle": "1:20", "parent": "1:1", "leaf": "20:", "prio": 2},
    ]
    filters = [
        {"parent": "1:", "protocol": "ip", "pref": 3, "kind": "u32", "chain": 0},
        {
            "parent": "1:",
            "protocol": "ip",
            "pref": 3,
            "kind": "flower",
            "chain": 0,
            "options": {"handle": 1, "keys": {"eth_type": "ipv4", "ip_tos": "0x28/0xfc"}, "classid": "1:10"},
        },
    ]
    (tmp_path / "router.json").write_text("\n".join(json.dumps(one) for one in (qdiscs, classes, filters)))
    found = load(tmp_path / "router.json", ImportOptions(download="eth0"))
    aqm = sj.Scenario.parse(found.text).aqm
    text = (
        "qdisc htb 1: dev eth0 root r2q 10 default 0x20\n"
        "qdisc fq_codel 20: dev eth0 parent 1:20 target 5001us\n"
        "class htb 1:1 root rate 9500Kbit ceil 9500Kbit burst 1599b cburst 1599b\n"
        "class htb 1:10 parent 1:1 prio 1 rate 3500Kbit ceil 9500Kbit burst 1599b cburst 1599b\n"
        "class htb 1:20 parent 1:1 leaf 20: prio 2 rate 3500Kbit ceil 9500Kbit burst 1599b cburst 1599b\n"
        "filter parent 1: protocol ip pref 3 flower chain 0 \n"
        "filter parent 1: protocol ip pref 3 flower chain 0 handle 0x1 classid 1:10 \n"
        "  eth_type ipv4\n"
        "  ip_tos 0x28/0xfc\n"
    )
    assert aqm == sj.Scenario.parse(import_text(text, "a", ImportOptions(download="eth0")).text).aqm
    assert "match dscp AF11" in aqm and "class 10 parent 1" in aqm
    assert found.notes == (
        "entry 4: class 1:10: its limit of 1000 packets; here each class has that of the link, 10240 packets",
    )


def test_errors_in_json_are_reported_by_entry(cli: Cli, tmp_path: Path) -> None:
    odd = {"kind": "fq_codel", "handle": "8:", "dev": "eth1", "root": True, "options": {"target": 5000, "odd_word": 7}}
    for name, data, word in (
        ("note", [CAKE, {**odd, "dev": "ifb4eth1"}], "entry 2: fq_codel: odd_word 7"),
        ("unknown", [{**odd, "kind": "plug"}], "entry 1: plug is not supported"),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
        shown = cli("import", "tc", f"{name}.json", "-o", f"{name}.toml", "--rate", "20mbit")
        assert word in shown.stderr, shown.stderr
    for text in ("[{", '[{"kind": "cake"}', "[{} 7", '[{"kind": [1]}]', '[{"kind":"cake","options":7,"root":true}]'):
        (tmp_path / "bad.json").write_text(text)
        shown = cli("import", "tc", "bad.json", "-o", "bad.toml")
        assert shown.exit_code == 2 and len(shown.stderr.strip().splitlines()) == 1, (text, shown.output)


def test_hfsc_is_taken_for_htb() -> None:
    text = """
qdisc hfsc 1: dev eth0 root refcnt 2 default 0x12
qdisc fq_codel 8012: dev eth0 parent 1:12
class hfsc 1: root
class hfsc 1:1 parent 1: sc m1 0bit d 0us m2 9100Kbit ul m1 0bit d 0us m2 9100Kbit
class hfsc 1:11 parent 1:1 rt m1 4Mbit d 10ms m2 1300Kbit
class hfsc 1:12 parent 1:1 leaf 8012: ls m1 0bit d 0us m2 7Mbit ul m1 0bit d 0us m2 8500Kbit
"""
    lines = [line for line in text.strip().splitlines() if line != "class hfsc 1: root"]
    found = import_text("\n".join(lines), "a", ImportOptions(download="eth0"))
    aqm = sj.Scenario.parse(found.text).aqm
    nearest = """
qdisc htb 1: dev eth0 root refcnt 2 default 0x12
qdisc fq_codel 8012: dev eth0 parent 1:12
class htb 1:1 root rate 9100Kbit ceil 9100Kbit
class htb 1:11 parent 1:1 rate 1300Kbit ceil 9100Kbit
class htb 1:12 parent 1:1 leaf 8012: rate 7Mbit ceil 8500Kbit
"""
    assert aqm == sj.Scenario.parse(import_text(nearest, "a", ImportOptions(download="eth0")).text).aqm
    assert any("hfsc is not supported; htb is the nearest" in note for note in found.notes)
    commands = """
tc qdisc add dev eth0 root handle 1: hfsc default 12
tc class add dev eth0 parent 1: classid 1:1 hfsc sc rate 9100kbit ul rate 9100kbit
tc class add dev eth0 parent 1:1 classid 1:11 hfsc rt umax 1500b dmax 10ms rate 1300kbit
tc class add dev eth0 parent 1:1 classid 1:12 hfsc ls rate 7mbit ul rate 8500kbit
tc qdisc add dev eth0 parent 1:12 fq_codel
"""
    assert sj.Scenario.parse(import_text(commands, "a", ImportOptions(download="eth0")).text).aqm == aqm


def test_ets_is_taken_for_prio_and_hhf_for_drr() -> None:
    text = """
qdisc ets 1: dev eth0 root refcnt 2 bands 4 strict 2 quanta 4514 3514 priomap 3 3 2 3 3 3 1 0 1 1 1 1 1 1 1 1
qdisc pie 8003: dev eth0 parent 1:3
filter parent 1: protocol ip pref 1 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 flowid 1:4 not_in_hw
  match 00200000/00fc0000 at 0
"""
    found = import_text(text, "a", ImportOptions(rate="20mbit", download="eth0"))
    aqm = sj.Scenario.parse(found.text).aqm
    assert aqm.startswith("prio ") and "priomap 2,2,2,2,2,2,1,0,1,1,1,1,1,1,1,1" in aqm
    assert "band 3 match dscp CS1 { pie@linux }" in aqm
    assert any("2 bands are strict, and bands 3 to 4, which take turns, are one band" in note for note in found.notes)
    one = import_text(
        "qdisc hhf 0: dev eth0 root limit 700p quantum 1514 hh_limit 2048", "a", ImportOptions(rate="20mbit")
    )
    document = sj.Scenario.parse(one.text).document
    assert document["reverse"]["aqm"]["name"] == "drr" and document["reverse"]["limit"] == "700 packets"
    assert any("hhf is not supported; drr is the nearest" in note for note in one.notes)


PRIO = "tc qdisc add dev eth0 root handle 1: prio\n"


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("u32 match ip tos 0x28 0xff flowid 1:1", "band 1 match dscp AF11"),
        (
            "u32 match ip dsfield 0xa0 0xe0 flowid 1:1",
            "band 1 match dscp CS5 match dscp 41 match dscp 42 match dscp 43 match dscp VA match dscp 45 match dscp EF",
        ),
        ("flower ip_tos 0xb8/0xfc classid 1:1", "band 1 match dscp EF"),
        ("basic match 'cmp(u8 at 1 layer network mask 0xfc eq 0x20)' flowid 1:3", "band 3 match dscp CS1"),
        ("matchall classid 1:1", "priomap 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"),
        ("u32 match u32 0 0 at 0 flowid 1:3", "priomap 2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2"),
    ],
)
def test_filters_that_are_understood(line: str, meant: str) -> None:
    text = f"{PRIO}tc filter add dev eth0 parent 1: protocol ip prio 1 {line}"
    found = import_text(text, "a", ImportOptions(rate="9mbit", download="eth0"))
    assert meant in sj.Scenario.parse(found.text).aqm and not found.notes


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("handle 6 fw classid 1:1", "firewall marks are not modelled"),
        ("u32 match ip dport 5060 0xffff flowid 1:1", "ports are not modelled"),
        ("flower ip_proto udp dst_port 5060 classid 1:1", "ports are not modelled"),
        ("u32 match ip src 10.0.0.7/32 flowid 1:1", "addresses are not modelled"),
        ("u32 match ip protocol 17 0xff flowid 1:1", "protocols are not modelled"),
        ("u32 match ip tos 0x28 0xff match ip sport 53 0xffff flowid 1:1", "ports are not modelled"),
        ("bpf obj a.o flowid 1:1", "not run"),
        ("route from 3 classid 1:1", "by the DSCP"),
    ],
)
def test_unsupported_filters_have_a_reason(line: str, why: str) -> None:
    text = f"{PRIO}tc filter add dev eth0 parent 1: protocol ip prio 1 {line}"
    found = import_text(text, "a", ImportOptions(rate="9mbit", download="eth0"))
    assert len(found.notes) == 1 and why in found.notes[0] and found.notes[0].startswith("line 2: filter")
    assert "match" not in sj.Scenario.parse(found.text).aqm


def test_a_filter_for_everything_is_htbs_default() -> None:
    text = """
tc qdisc add dev eth0 root handle 1: htb
tc class add dev eth0 parent 1: classid 1:1 htb rate 7mbit
tc class add dev eth0 parent 1:1 classid 1:a htb rate 3mbit
tc class add dev eth0 parent 1:1 classid 1:b htb rate 4mbit ceil 7mbit
tc filter add dev eth0 parent 1: protocol all prio 9 matchall flowid 1:b
"""
    found = import_text(text, "a", ImportOptions(download="eth0"))
    assert " default b " in sj.Scenario.parse(found.text).aqm and not found.notes


def test_the_walk_begins_with_json_too(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "router.json").write_text(json.dumps([CAKE, {**CAKE, "dev": "ifb4eth1", "handle": "8006:"}]))
    reported = printed_json(cli("import", "tc", "router.json", "-o", "router.toml", "--json"))
    assert len(reported["understood"]) == 2 and not reported["not_understood"]
    ran = cli("rehearse", "router.toml", "--change", "rtt 100ms", "--seeds", "1", "-o", "out", "--json")
    assert ran.exit_code == 0, ran.output
