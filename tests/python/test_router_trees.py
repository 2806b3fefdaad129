"""`import tc` of trees: children by handle, size tables, defaults and handles, as text, JSON and commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from sojourn.io.tc.scenario import ImportedScenario, ImportOptions, import_text, load

HTB = (
    "qdisc htb 1: dev eth0 root refcnt 2 r2q 10 default {}\n"
    "qdisc fq_codel 110: dev eth0 parent 1:10 limit 1001p\n"
    "class htb 1:1 root rate 820Kbit ceil 820Kbit burst 1600b cburst 1600b\n"
    "class htb 1:10 parent 1:1 leaf 110: prio 0 rate 400Kbit ceil 820Kbit burst 1600b cburst 1600b\n"
)


def imported(text: str, **wanted: str) -> ImportedScenario:
    return import_text(text, "a", ImportOptions(**{"rate": "93 Mbit/s", **wanted}))


def upload(found: ImportedScenario) -> dict[str, Any]:
    """The canonical link to the Internet."""
    reverse: dict[str, Any] = sj.Scenario.parse(found.text).document["reverse"]
    return reverse


@pytest.mark.parametrize(
    "text",
    [
        "qdisc {} dev eth0 root refcnt 2 {}\nqdisc fq_codel 110: dev eth0 parent 1: limit 1001p target 17.3ms",
        "qdisc {} dev eth0 root refcnt 2 {}\nqdisc fq_codel 110: dev eth0 parent 1:1 limit 1001p target 17.3ms",
        "qdisc {} root refcnt 2 {}\n Sent 9 bytes 1 pkt (dropped 0, overlimits 0 requeues 0) \n"
        " backlog 0b 0p requeues 0\nqdisc fq_codel 110: parent 1: limit 1001p target 17.3ms",
        "tc qdisc add dev eth0 root handle 1: {1}\ntc qdisc add dev eth0 parent 1: fq_codel limit 1001 target 17.3ms",
        "tc qdisc add dev eth0 root handle 0x1 {1}\ntc qdisc add dev eth0 parent 1:1 fq_codel limit 1001 target 17.3ms",
    ],
)
@pytest.mark.parametrize(
    ("shown", "given"),
    [
        ("tbf 1:", "rate 820Kbit burst 1695b lat 300.0ms"),
        ("netem 1:", "limit 1000 delay 20ms rate 820Kbit"),
    ],
)
def test_the_child_of_a_single_class_is_inside(text: str, shown: str, given: str) -> None:
    kind = shown.split()[0]
    is_command = text.startswith("tc ")
    written = given.replace("lat ", "latency ") if is_command else given
    found = imported(text.format(shown, f"{kind} {written}" if is_command else written))
    assert "{ fq_codel@linux limit 1001 target 17.3ms }" in upload(found)["aqm"]["name"]
    assert found.notes == ()


def test_the_child_of_a_single_class_is_inside_in_json() -> None:
    child = {"kind": "fq_codel", "handle": "110:", "dev": "eth0", "parent": "1:", "options": {"target": 17300}}
    for kind, options in (
        ("tbf", {"rate": 102500, "burst": "1695b/1", "mpu": 0, "lat": 300000, "linklayer": "ethernet"}),
        ("netem", {"limit": 1000, "delay": {"delay": 0.02, "jitter": 0, "correlation": 0}, "ecn": False, "gap": 0}),
    ):
        parent = {"kind": kind, "handle": "1:", "dev": "eth0", "root": True, "refcnt": 2, "options": options}
        found = imported(json.dumps([parent, child]))
        assert "{ fq_codel@linux target 17.3ms }" in upload(found)["aqm"]["name"]
        assert found.notes == ()


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            HTB.format("0x10") + "qdisc cake 120: dev eth0 parent 1:20 bandwidth 3Mbit",
            "line 5: cake 120:, parent 1:20: there is no class 1:20; it is left out",
        ),
        (
            "qdisc tbf 1: dev eth0 root rate 1Mbit burst 5Kb lat 50ms\nqdisc fq_codel 3: dev eth0 parent 2: limit 7p",
            "line 2: fq_codel 3:, parent 2:1: there is no qdisc 2:; it is left out",
        ),
        (
            HTB.format("0x10") + "class htb 2:1 root rate 820Kbit ceil 820Kbit burst 1600b cburst 1600b",
            "line 5: class 2:1: there is no qdisc of its handle; it is left out",
        ),
        (
            HTB.format("0x10") + "filter parent 1: protocol ip pref 1 u32 chain 0 fh 800::800 flowid 1:33\n"
            "  match 00b80000/00fc0000 at 0\n",
            "line 5: filter to 1:33: there is no such class; it is left out",
        ),
        (
            "qdisc red 1: dev eth0 root limit 400000b min 30000b max 90000b \n"
            "qdisc fq_codel 3: dev eth0 parent 1: limit 7p",
            "line 2: fq_codel 3:, parent 1:1: red here has no such discipline inside; it is left out",
        ),
        (
            "tc qdisc add dev eth0 root fq_codel\ntc qdisc add dev eth0 parent 5:1 pfifo limit 7",
            "line 2: pfifo, parent 5:1: there is no qdisc 5:; it is left out",
        ),
    ],
)
def test_what_has_no_place_is_said(text: str, note: str) -> None:
    assert note in imported(text).notes


def test_a_discipline_below_the_card_is_said_once() -> None:
    found = imported(
        "qdisc mq 0: dev eth0 root\n"
        "qdisc fq_codel 0: dev eth0 parent :2 limit 10240p\nqdisc fq_codel 0: dev eth0 parent :1 limit 10240p"
    )
    assert [note.split(":")[1] for note in found.notes] == [" mq"]


TABLES = [
    ("linklayer atm overhead 40 mtu 2047 tsize 512", ("atm", "40 B", "0 B")),
    ("linklayer ethernet overhead 34 mpu 68 mtu 2047 tsize 512", ("ethernet", "34 B", "68 B")),
    ("overhead 22", ("ethernet", "22 B", "0 B")),
    ("mpu 84 mtu 2047 tsize 512", ("ethernet", "0 B", "84 B")),
    ("linklayer adsl overhead 10 mpu 53", ("atm", "10 B", "53 B")),
    ("linklayer ethernet overhead -4 mpu 64 mtu 2047 tsize 512", ("ethernet", "-4 B", "64 B")),
    ("linklayer atm overhead -14", ("atm", "-14 B", "0 B")),
]
KINDS = [
    "fq_codel limit 1001p",
    "cake bandwidth 9500Kbit diffserv3 dual-srchost nat rtt 100.0ms raw overhead 0",
    "tbf rate 820Kbit burst 1749b lat 300.0ms",
    "netem limit 1000 delay 20ms",
    "prio bands 3 priomap  1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1",
]


@pytest.mark.parametrize(("table", "meant"), TABLES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_size_table_is_the_links(kind: str, table: str, meant: tuple[str, str, str]) -> None:
    name, _, words = kind.partition(" ")
    shown = f"qdisc {name} 1: dev eth0 root refcnt 2 {words} "
    statistics = " Sent 212 bytes 4 pkt (dropped 0, overlimits 0 requeues 0) \n backlog 0b 0p requeues 0\n"
    command = kind.replace("lat ", "latency ").replace("limit 1001p", "limit 1001")
    sizes = dict(zip(table.split()[::2], table.split()[1::2], strict=True))
    of_json = {
        "kind": "fq_codel",
        "handle": "1:",
        "dev": "eth0",
        "root": True,
        "options": {"limit": 1001},
        "stab": {word: int(value) if value.lstrip("-").isdigit() else value for word, value in sizes.items()},
    }
    for text in (
        f"{shown}\n {table} \n{statistics}",
        f"{shown}\n{table}\n",
        f"tc qdisc add dev eth0 root handle 1: stab {table} {command}",
        f"tc qdisc add stab {table} dev eth0 root {command}",
        json.dumps([of_json]),
    ):
        found = imported(text)
        link = upload(found)
        assert (link["framing"], link["overhead"], link["mpu"]) == meant, text
        assert found.notes == (), text


def test_statistics_of_cake_are_no_size_table() -> None:
    statistics = (
        " Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n memory used: 0b of 4Mb\n"
        " min/max overhead-adjusted size:    65535 /       0\n\n                   Bulk  Best Effort        Voice\n"
        "  thresh       1125Kbit     18Mbit   4500Kbit\n  target         16.1ms        5ms        5ms\n"
        "  overhead          0            0          0\n  quantum           300        549        300\n"
    )
    found = imported(f"qdisc cake 8005: dev eth0 root refcnt 2 bandwidth 18Mbit noatm overhead 22 \n{statistics}")
    assert upload(found)["overhead"] == "0 B" and upload(found)["aqm"]["overhead"] == 22
    assert found.notes == ()


@pytest.mark.parametrize(
    ("given", "chosen", "is_assumed"),
    [("16", "10", True), ("10", "10", False), ("0x10", "10", False), ("0x16", "0", False), ("99", "0", False)],
)
def test_the_default_of_htb_is_a_leaf(given: str, chosen: str, is_assumed: bool) -> None:
    found = imported(HTB.format(given), **({"class_id": "1:10"} if chosen == "0" else {}))
    assert upload(found)["aqm"]["default"] == chosen
    assert any(f"default {given}" in one for one in found.assumed) == is_assumed
    assert any("is not a leaf" in note for note in found.notes) == (chosen == "0")


def test_a_default_that_reads_both_ways_is_hexadecimal_and_said() -> None:
    both = HTB.format("16") + "class htb 1:16 parent 1:1 prio 0 rate 300Kbit ceil 820Kbit burst 1600b cburst 1600b\n"
    found = imported(both)
    assert upload(found)["aqm"]["default"] == "16"
    assert any("class 16 in hexadecimal, or class 10 of iproute2 4.15 to 4.18" in one for one in found.assumed)


def test_the_default_in_commands_and_json_has_one_reading() -> None:
    commands = (
        "tc qdisc add dev eth0 root handle 1: htb default 16\n"
        "tc class add dev eth0 parent 1: classid 1:1 htb rate 820kbit\n"
        "tc class add dev eth0 parent 1:1 classid 1:10 htb rate 820kbit\n"
        "tc class add dev eth0 parent 1:1 classid 1:16 htb rate 20kbit\n"
    )
    found = imported(commands)
    assert upload(found)["aqm"]["default"] == "16" and not any("default" in one for one in found.assumed)
    shape = {"class": "htb", "rate": 102500, "ceil": 102500, "burst": 1600, "cburst": 1600}
    listed = [
        {"kind": "htb", "handle": "1:", "dev": "eth0", "root": True, "options": {"r2q": 10, "default": 16}},
        {**shape, "handle": "1:1", "root": True},
        {**shape, "handle": "1:10", "parent": "1:1", "prio": 0},
    ]
    assert upload(imported(json.dumps(listed)))["aqm"]["default"] == "10"


def test_handles_are_hexadecimal_with_or_without_0x() -> None:
    plain = (
        "qdisc replace dev ens1 root handle 7FFF: mq\n"
        "qdisc add dev ens1 parent 7FFF:a handle 1a: htb default 2\n"
        "class add dev ens1 parent 1a: classid 1a:1 htb rate 1000mbit ceil 1000mbit\n"
        "class add dev ens1 parent 1a:1 classid 1a:2 htb rate 250mbit ceil 999mbit prio 5\n"
        "qdisc add dev ens1 parent 1a:2 cake diffserv4\n"
        "class add dev ens1 parent 1a:1 classid 1a:b htb rate 25mbit ceil 50mbit prio 3\n"
        "qdisc add dev ens1 parent 1a:b cake diffserv4\n"
        "filter add dev ens1 parent 1a: protocol ip prio 1 u32 match ip tos 0xb8 0xfc flowid 1a:b\n"
    )
    prefixed = plain.replace("1a:", "0x1A:0x").replace(":0x ", ": ").replace("7FFF:", "0x7fff:0x").replace(":0x ", ": ")
    meant, found = imported(plain, class_id="1a:b"), imported(prefixed, class_id="0x1A:0xB")
    assert found == meant
    assert "match dscp EF" in upload(found)["aqm"]["name"]


def test_details_of_htbs_classes_are_read() -> None:
    # iproute2 6 prints no space after the cell of a burst.
    found = imported(
        "qdisc htb 1: dev eth0 root refcnt 2 r2q 10 default 0x10 direct_packets_stat 0 ver 3.17 direct_qlen 1000\n"
        "class htb 1:10 root prio 0 quantum 10250 rate 820Kbit ceil 820Kbit linklayer ethernet burst 1600b/1mpu 64b "
        "cburst 1600b/1mpu 64b level 0\n"
    )
    assert "mpu 64" in upload(found)["aqm"]["name"] and found.notes == ()


def test_classes_of_two_devices_find_their_own() -> None:
    tree = (
        "qdisc htb 1: dev {0} root refcnt 2 r2q 10 default 0x10\n"
        "qdisc fq_codel 110: dev {0} parent 1:1{1} limit 1001p\n"
    )
    classes = (
        "class htb 1:1 root rate {0}Kbit ceil {0}Kbit burst 1600b cburst 1600b\n"
        "class htb 1:1{1} parent 1:1 leaf 110: prio 0 rate {0}Kbit ceil {0}Kbit burst 1600b cburst 1600b\n"
    )
    listed = tree.format("eth1", 0) + tree.format("ifb4eth1", 1)
    for order in ((820, 0), (9900, 1)), ((9900, 1), (820, 0)):
        found = imported(listed + "".join(classes.format(*one) for one in order))
        assert upload(found)["aqm"]["name"].count("820kbit/s") == 4
        assert not any("classes of" in one for one in found.assumed)
    alike = tree.format("eth1", 0) + tree.format("ifb4eth1", 0)
    found = imported(alike + classes.format(820, 0) + classes.format(9900, 0))
    assert "820kbit/s" in upload(found)["aqm"]["name"]
    assert any("classes of eth1, the first device with such a handle" in one for one in found.assumed)


def test_values_of_size_tables_that_cannot_be_are_said() -> None:
    found = imported(
        "qdisc fq_codel 1: dev eth0 root limit 7p\n linklayer odd overhead 99999 mpu -3 mtu 2047 tsize 128 warp 7\n"
    )
    notes = [note.removeprefix("line 1: ") for note in found.notes]
    said = ["overhead 99999", "mpu -3", "linklayer odd", "tsize 128: sizes are exact here"]
    assert notes == [*(f"stab: {one}" for one in said), "fq_codel: warp 7"]


def test_a_size_table_inside_a_tree_is_said() -> None:
    for table in (" stab overhead 22 linklayer atm", ""):
        below = "" if table else "\n linklayer adsl overhead 22 mtu 2047 tsize 512 "
        for parent, place in (("tbf 1: dev eth0 root rate 9Mbit burst 15Kb lat 50ms", "1:"), (HTB_OF_ONE, "1:1")):
            found = imported(f"qdisc {parent}\nqdisc cake 2: dev eth0 parent {place}{table} bandwidth 3Mbit{below}\n")
            assert [note.split(": ", 1)[1] for note in found.notes if "stab" in note] == [
                "cake: stab: framing atm overhead 22 B: a link here has the size table of its root alone"
            ]


HTB_OF_ONE = "htb 1: dev eth0 root default 0x1\nclass htb 1:1 root rate 9Mbit"


def test_a_shaper_inside_netem_shapes() -> None:
    netem = {"kind": "netem", "handle": "1:", "dev": "eth0", "root": True, "options": {"limit": 1000}}
    shaper = {"kind": "tbf", "handle": "2:", "dev": "eth0", "parent": "1:"}
    shaper["options"] = {"rate": 375_000_000, "burst": 50_000, "lat": 50_000}
    for text in (
        json.dumps([netem, shaper]),
        "qdisc netem 1: dev eth0 root limit 1000\nqdisc tbf 2: dev eth0 parent 1: rate 3Gbit burst 50Kb lat 50ms\n",
    ):
        link = sj.Scenario.parse(import_text(text, "a", ImportOptions()).text).document["reverse"]
        assert "tbf rate 3Gbit/s" in link["aqm"]["name"] and link["rate"] == "3 Gbit/s"


def test_a_negative_overhead_takes_bytes_off() -> None:
    base = {"duration": "1 s", "flows": [{"kind": "cbr", "rate": "1 Mbit/s", "size": "1000 B"}]}
    sizes = {}
    for overhead in ("0 B", "-14 B", "-2000 B"):
        keys = {**base, "link": {"rate": "10 Mbit/s", "overhead": overhead}, "probes": {"packets": True}}
        sizes[overhead] = {int(size) for size in sj.Scenario.build(keys).run(seed=1).packets["bytes"]}
    assert sizes == {"0 B": {1000}, "-14 B": {986}, "-2000 B": {1}}


CASES = {
    "05/linux_tc.txt": ("class 3 parent 1 rate 25Mbit/s ceil 50Mbit/s prio 3 { cake tins diffserv4 }", {}),
    "01/router.txt": ("{ fq_codel@linux limit 1001 quantum 300B target 17.3ms interval 112.3ms }", {}),
    "02/htb.txt": ("class 10 parent 1", {"framing": "atm", "overhead": "40 B"}),
    "02/cake.txt": ("cake", {"overhead": "34 B", "mpu": "68 B"}),
    "04/htb.txt": ("class 10 parent 1", {}),
}


@pytest.mark.parametrize("name", CASES)
def test_cases_from_the_field(shared: Path, name: str) -> None:
    aqm, link = CASES[name]
    found = upload(load(shared / "cases" / name, ImportOptions(class_id="0x1:3" if name[:2] == "05" else None)))
    assert aqm in found["aqm"]["name"]
    assert {key: found[key] for key in link} == link
