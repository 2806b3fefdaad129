"""Filters of `import tc`: those that match everything, their order, redirections and policers in every form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from sojourn.base.errors import InputError
from sojourn.io.tc.filters import matches
from sojourn.io.tc.records import ALL_DSCPS
from sojourn.io.tc.scenario import ImportedScenario, ImportOptions, import_text, load

HTB = """tc qdisc add dev eth0 root handle 1: htb default 1
tc class add dev eth0 parent 1: classid 1:1 htb rate 100mbit
tc class add dev eth0 parent 1: classid 1:2 htb rate 5mbit
"""
SHOWN = """qdisc htb 1: dev eth0 root refcnt 2 r2q 10 default 0x1 direct_packets_stat 0
class htb 1:1 root prio 0 rate 100Mbit ceil 100Mbit burst 1600b cburst 1600b
class htb 1:2 root prio 0 rate 5Mbit ceil 5Mbit burst 1600b cburst 1600b
filter parent 1: protocol ip pref 1 u32 chain 0
filter parent 1: protocol ip pref 1 u32 chain 0 fh 800: ht divisor 1
"""
HEAD = (
    "filter parent 1: protocol ip pref 1 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 {} flowid 1:2 not_in_hw\n"
)


def imported(text: str) -> ImportedScenario:
    return import_text(text, "a", ImportOptions(rate="93 Mbit/s", download="eth0"))


def default(found: ImportedScenario) -> str:
    """Class of packets that no filter sorts."""
    chosen: str = sj.Scenario.parse(found.text).document["link"]["aqm"]["default"]
    return chosen


@pytest.mark.parametrize(
    "words",
    [
        "matchall",
        "u32 match u32 0 0",
        "u32 match u32 0 0 at 0",
        "u32 match u32 0x0 0x0 at 12",
        "u32 match u32 00000000 00000000 at 16",
        "u32 match u16 0x0000 0x0000 at 2",
        "u32 match u8 0 0 at 9",
        "u32 match ip dst 0.0.0.0/0",
        "u32 match ip src 0/0",
        "u32 match ip src any",
        "u32 match ip protocol 0 0x00",
        "u32 match ip tos 0 0",
        "u32 match ip dport 0 0x0000",
        "u32 match mark 0 0",
        "u32 match icmp type 0 0x00",
        "u32 match ip6 dst ::/0",
        "u32 match ip src 0.0.0.0/0 match ip dst 0.0.0.0/0",
        "flower",
        "flower dst_ip 0.0.0.0/0",
        "basic",
    ],
)
def test_matches_of_everything(words: str) -> None:
    for verb in ("add", "replace"):
        found = imported(f"{HTB}tc filter {verb} dev eth0 protocol ip parent 1: prio 1 {words} flowid 1:2\n")
        assert default(found) == "2" and found.notes == (), words


@pytest.mark.parametrize(
    "match",
    ["00000000/00000000 at 0", "00000000/00000000 at 12", "00000000/00000000 at nexthdr+0", "IP src 0.0.0.0/0"],
)
def test_matches_of_everything_as_shown(match: str) -> None:
    for order in ("*", "terminal"):
        found = imported(f"{SHOWN}{HEAD.format(order).replace('* ', '*')}  match {match}\n")
        assert default(found) == "2" and found.notes == ()


def test_matches_of_everything_in_json() -> None:
    qdisc = {"kind": "htb", "handle": "1:", "dev": "eth0", "root": True, "options": {"r2q": 10, "default": "0x1"}}
    rates = {"rate": 625000, "ceil": 625000, "burst": 1600, "cburst": 1600}
    classes = [{"class": "htb", "handle": f"1:{number}", "root": True, "prio": 0, **rates} for number in (1, 2)]
    head = {"parent": "1:", "protocol": "ip", "pref": 1, "kind": "u32", "chain": 0}
    zero = '{"value":"0","mask":"0","offmask":"","off":%d}'
    tos = '{"value":"b80000","mask":"fc0000","offmask":"","off":0}'
    for matched, chosen, dscp in (
        (f'"match":{zero % 0}', "2", False),
        (f'"match":{zero % 12},"match":{zero % 16}', "2", False),
        (f'"match":{zero % 12},"match":{tos}', "1", True),
        (f'"match":{tos},"match":{zero % 12}', "1", True),
        ('"match":{"src":{"address":"0.0.0.0","prefixlen":0}}', "2", False),
    ):
        options = '{"fh":"800::800","flowid":"1:2",' + matched + "}"
        shown = json.dumps([head, {**head, "options": "X"}]).replace('"X"', options)
        found = imported(json.dumps([qdisc]) + json.dumps(classes) + shown)
        assert default(found) == chosen and found.notes == ()
        assert ("class 2" in found.text and "match dscp EF" in found.text) == dscp


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        ("u32 match ip tos 0xb8 0xfc", {46}),
        ("u32 match ip protocol 0 0 match ip dsfield 0xb8 fc", {46}),
        ("u32 match u8 0xb8 0xfc at 1", {46}),
        ("u32 match u16 0x00b8 0x00fc at 0", {46}),
        ("u32 match u32 0x00b80000 0x00fc0000 at 0", {46}),
        ("protocol ipv6 u32 match u16 0x0b80 0x0fc0 at 0", {46}),
        ("u32 match IP dsfield 0xb8", {46}),
        ("flower src_ip 0.0.0.0/0 ip_tos 0xb8/0xfc", {46}),
        ("u32 match ip tos 0xb8 0xfc match ip tos 0x20 0xfc", set()),
        ("u32 match ip dport 53 0xffff", None),
        ("u32 match ip dst 10.0.0.0/8", None),
        ("u32 match u32 0x0a000000 0xff000000 at 12", None),
        ("u32 match u8 6 0xff at 9", None),
        ("flower ip_proto tcp", None),
        ("basic match 'meta(nf_mark eq 3)'", None),
        ("fw", None),
    ],
)
def test_criteria(words: str, codes: set[int] | None) -> None:
    assert matches(words.split()) == (None if codes is None else frozenset(codes))
    assert matches(["matchall"]) == ALL_DSCPS


def test_filters_apply_in_the_order_of_their_priorities() -> None:
    rest = "tc filter add dev eth0 parent 1: protocol ip {} matchall flowid 1:2\n"
    voice = "tc filter add dev eth0 parent 1: protocol ip {} u32 match ip tos 0xb8 0xfc flowid 1:1\n"
    for text, is_sorted in (
        (rest.format("prio 2") + voice.format("prio 1"), True),
        (rest.format("prio 1") + voice.format("prio 2"), False),
        (rest.format("") + voice.format(""), True),  # the kernel puts a filter without a priority before the others
        (voice.format("") + rest.format(""), False),
    ):
        found = imported(HTB + text)
        assert ("match dscp EF" in found.text) == is_sorted and default(found) == "2"


def test_filters_of_other_protocols_are_said() -> None:
    for protocol in ("ipv6", "802.1Q"):
        found = imported(f"{HTB}tc filter add dev eth0 parent 1: protocol {protocol} matchall flowid 1:2\n")
        assert default(found) == "1" and "packets here are of IPv4" in found.notes[0]


INGRESS = "qdisc ingress ffff: dev eth0 parent ffff:fff1 ----------------\n"
ROOT = "qdisc fq_codel 8001: dev eth0 root refcnt 2 limit 10240p\n"


HOOKS = "tc qdisc add dev eth0 clsact\ntc qdisc add dev eth0 root handle 1: fq_codel\ntc filter add dev eth0 {}\n"
TENTH = "police rate 10Mbit/s burst 102400B"


def lines(found: ImportedScenario) -> list[str]:
    """Queue managers of the scenario, in tc's spelling."""
    return [line.partition('"')[2].rpartition('"')[0] for line in found.text.splitlines() if line.startswith("aqm = ")]


@pytest.mark.parametrize(
    "text",
    [
        INGRESS
        + ROOT
        + "filter parent ffff: protocol all pref 49152 u32 chain 0 fh 800::800 key ht 800 bkt 0 flowid :1\n"
        "  match 00000000/00000000 at 0\n"
        "\taction order 0:  police 0x1 rate 10Mbit burst 100Kb mtu 2Kb action drop overhead 0b \n\tref 1 bind 1\n",
        INGRESS + ROOT + "filter parent ffff: protocol all pref 49152 matchall chain 0 \n"
        "filter parent ffff: protocol all pref 49152 matchall chain 0 handle 0x1 \n  not_in_hw\n"
        "\taction order 1:  police 0x2 rate 10Mbit burst 100Kb mtu 2Kb action drop/pipe overhead 0b linklayer \n"
        "  ethernet \n",
        "tc filter show dev eth0 ingress\nfilter protocol all pref 49152 matchall chain 0 handle 0x1 \n"
        "\taction order 1:  police 0x2 rate 10Mbit burst 100Kb mtu 2Kb action drop overhead 0b \n\tref 1 bind 1\n"
        + ROOT.replace("8001:", "1:"),
        HOOKS.format("ingress matchall action police rate 10Mbit burst 100k conform-exceed drop"),
        HOOKS.format("ingress protocol ip flower action police rate 10Mbit buffer 100k drop"),
        HOOKS.format("ingress prio 5 matchall action police rate 1250kbps burst 100k/8 mtu 2040 drop"),
        "tc qdisc add dev eth0 handle ffff: ingress\ntc qdisc add dev eth0 root fq_codel\n"
        "tc filter add dev eth0 parent ffff: protocol ip u32 match ip src 0.0.0.0/0 police rate 10Mbit burst 100k drop "
        "flowid :1\n",
    ],
)
def test_a_policer_of_everything_received_is_that_of_the_other_direction(text: str) -> None:
    found = import_text(text, "a", ImportOptions(rate="93 Mbit/s"))
    assert found.notes == ()
    assert lines(found) == [TENTH, "fq_codel@linux"]
    assert found.understood[0].startswith("to the home: eth0, police")
    assert any("tcp" in part and "reverse" not in part for part in found.text.split("[[flows]]"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HOOKS.format("egress matchall action police rate 10Mbit burst 100k drop"), f"{TENTH} {{ fq_codel@linux }}"),
        (
            "tc qdisc add dev eth0 root handle 1: prio\n"
            "tc filter add dev eth0 parent 1: protocol ip matchall police rate 10Mbit burst 100k drop flowid 1:1\n",
            f"{TENTH} {{ prio priomap 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0 }}",
        ),
        (
            "qdisc clsact ffff: dev eth0 parent ffff:fff1\n"
            "qdisc pfifo_fast 0: dev eth0 root refcnt 2 bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1\n"
            "filter parent ffff:fff3 protocol all pref 49152 matchall chain 0 handle 0x1 \n"
            "\taction order 1:  police 0x1 rate 10Mbit burst 100Kb mtu 2Kb action reclassify overhead 0b \n",
            f"{TENTH} {{ pfifo_fast }}",
        ),
        (
            HOOKS.format("egress matchall action police pkts_rate 900 pkts_burst 50 conform-exceed drop"),
            "police pkts_rate 900 pkts_burst 50 { fq_codel@linux }",
        ),
        (
            HOOKS.format(
                "egress matchall action police rate 9mbit burst 20k mtu 1600 peakrate 20mbit overhead 9b drop"
            ),
            "police rate 9Mbit/s burst 20480B peakrate 20Mbit/s mtu 1600B overhead 9 { fq_codel@linux }",
        ),
        (HOOKS.format("egress matchall action police mtu 1600 drop"), "police mtu 1600B { fq_codel@linux }"),
        (
            HOOKS.format("egress matchall action police rate 9mbit burst 20k/16 drop"),
            "police rate 9Mbit/s burst 20480B mtu 4080B { fq_codel@linux }",
        ),
        (
            HOOKS.format(
                "egress matchall action police rate 10mbit burst 100k conform-exceed drop/pipe "
                "action police mtu 1700 drop"
            ),
            f"{TENTH} {{ police mtu 1700B {{ fq_codel@linux }} }}",
        ),
    ],
)
def test_a_policer_of_everything_sent_is_before_the_queue(text: str, expected: str) -> None:
    found = import_text(text, "a", ImportOptions(rate="93 Mbit/s", upload="eth0"))
    assert lines(found) == [expected] and found.notes == ()
    assert any("16 more attempts" in one for one in found.assumed) == ("reclassify" in text)


def test_a_policer_before_a_redirection_is_before_the_target() -> None:
    found = import_text(
        "tc qdisc add dev wan0 root cake bandwidth 9mbit\ntc qdisc add dev wan0 handle ffff: ingress\n"
        "tc qdisc add dev ifb0 root cake bandwidth 30mbit\n"
        "tc filter add dev wan0 parent ffff: matchall action police rate 40mbit burst 200k conform-exceed drop/pipe "
        "action mirred egress redirect dev ifb0\n",
        "a",
        ImportOptions(),
    )
    assert lines(found) == [
        "police rate 40Mbit/s burst 204800B { cake bandwidth 30Mbit/s }",
        "cake bandwidth 9Mbit/s",
    ]
    assert found.notes == ()


def test_a_policer_alone_needs_neither_a_queue_nor_a_rate() -> None:
    text = (
        "tc qdisc add dev eth0 handle ffff: ingress\n"
        "tc filter add dev eth0 parent ffff: protocol ip matchall action police rate 10mbit burst 100k drop\n"
    )
    found = import_text(text, "a", ImportOptions())
    assert lines(found) == [TENTH] and found.notes == ()
    assert found.understood[1] == "from the home: not specified, 1 Gbit/s without bulk"
    assert "to the home: the line behind the policer carries 1000 Mbit/s" in found.assumed


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("ingress u32 match ip dport 80 0xffff police rate 9mbit burst 10k drop flowid :1", "sees a part"),
        ("ingress matchall action police rate 9mbit burst 10k conform-exceed ok", "its action is ok, not drop"),
        ("ingress matchall action police rate 9mbit burst 10k conform-exceed drop/drop", "drops packets within"),
        ("ingress matchall action police index 7", "it has no rate"),
        ("ingress matchall action police rate 9mbit burst 1k drop", "below the largest packet of the link"),
        ("ingress matchall action police mtu 1700 ok action police rate 9mbit burst 10k drop", "ends the filter"),
        ("ingress matchall action police avrate 9mbit drop", "it has no rate"),
        ("ingress protocol ipv6 matchall action police rate 9mbit burst 10k drop", "sees a part"),
        ("parent 1:1 matchall action police rate 9mbit burst 10k drop", "sees a part"),
        ("egress u32 match ip tos 0xb8 0xfc action police rate 9mbit burst 10k drop", "sees a part"),
    ],
)
def test_other_policers_are_said(words: str, reason: str) -> None:
    found = imported(HOOKS.format(words))
    assert lines(found) == ["fq_codel@linux"]
    assert any(reason in note and "police" in note and "packets above its rate pass" in note for note in found.notes)
    assert ("avrate" not in words) or "police: avrate 9mbit" in "\n".join(found.notes)


def test_the_first_filter_decides() -> None:
    police = "tc filter add dev eth0 ingress prio {} matchall action police rate 10mbit burst 100k drop\n"
    part = "tc filter add dev eth0 ingress prio {} u32 match ip tos 0xb8 0xfc action pass\n"
    root = "tc qdisc add dev eth0 clsact\ntc qdisc add dev eth0 root fq_codel\n"
    options = ImportOptions(rate="93 Mbit/s")
    assert lines(import_text(root + police.format(1) + part.format(2), "a", options))[0] == TENTH
    found = import_text(root + part.format(1) + police.format(2), "a", options)
    assert lines(found) == ["fq_codel@linux"] and any("sees a part" in note for note in found.notes)
    twice = import_text(root + police.format(3) + police.format(2).replace("10mbit", "7mbit"), "a", options)
    assert lines(twice)[0] == "police rate 7Mbit/s burst 102400B"
    assert any("rate 10mbit" in note and "a filter before it takes the packets" in note for note in twice.notes)


def test_a_policer_that_tc_refuses_is_an_error_and_a_shown_one_is_said() -> None:
    command = HOOKS.format("ingress matchall action police rate 9mbit drop")
    with pytest.raises(InputError, match=r"line 3: .*rate needs a burst"):
        imported(command)
    shown = (
        INGRESS
        + ROOT
        + (
            "filter parent ffff: protocol all pref 49152 matchall chain 0 handle 0x1 \n"
            "\taction order 1:  police 0x2 rate 10Mbit burst 0b mtu 2Kb action drop overhead 0b \n\tref 1 bind 1\n"
        )
    )
    assert "rate needs a burst" in imported(shown).notes[0]


@pytest.mark.parametrize(
    ("words", "is_known"),
    [
        ("rate 9mbit burst 10k warp 7 drop", False),
        ("rate 9mbit burst 10k odd drop", False),
        ("rate 9mbit burst 10k", True),
    ],
)
def test_unknown_words_of_a_policer_are_said(words: str, is_known: bool) -> None:
    text = HOOKS.format(f"ingress matchall action police rate 9mbit {words}")
    found = import_text(text, "a", ImportOptions(rate="93 Mbit/s"))
    assert lines(found)[0] == "police rate 9Mbit/s burst 10240B"
    assert (found.notes == ()) == is_known


def test_policers_of_json_are_said_without_their_rate() -> None:
    qdiscs: list[dict[str, Any]] = [
        {"kind": "ingress", "handle": "ffff:", "dev": "eth0", "parent": "ffff:fff1", "options": {}},
        {"kind": "fq_codel", "handle": "1:", "dev": "eth0", "root": True, "options": {"limit": 10240}},
    ]
    head = {"parent": "ffff:", "protocol": "all", "pref": 49152, "chain": 0}
    action = {"order": 1, "kind": "police", "index": 1, "control_action": {"type": "drop"}, "overhead": 0}
    for kind in ("u32", "matchall", "flower"):
        filters = [{**head, "kind": kind, "options": {"fh": "800::800", "flowid": ":1", "actions": [action]}}]
        found = imported(json.dumps(qdiscs) + "\n" + json.dumps(filters))
        assert found.notes == (
            "entry 3: eth0, ingress: police index 1 action drop: tc -j does not print its rate; give the output of tc "
            "filter show; packets above its rate pass",
        )
        packets = {**action, "pkts_rate": 900, "pkts_burst": 50}
        filters[0]["options"]["actions"] = [packets]
        text = json.dumps(qdiscs) + "\n" + json.dumps(filters)
        found = import_text(text, "a", ImportOptions(rate="93 Mbit/s"))
        assert lines(found)[0] == "police pkts_rate 900 pkts_burst 50" and found.notes == ()
        # tc prints the key of the action once more for packets that conform.
        text = text.replace('"overhead": 0', '"control_action": {"type": "pipe"}, "overhead": 0')
        assert lines(import_text(text, "a", ImportOptions(rate="93 Mbit/s"))) == lines(found)


@pytest.mark.parametrize("name", ["show.txt", "tc.sh"])
def test_a_policer_from_the_field(shared: Path, name: str) -> None:
    found = load(shared / "cases/09" / name, ImportOptions(rate="100 Mbit/s"))
    rate, burst = ("10Mbit/s", 102400) if name == "show.txt" else ("7Mbit/s", 10240)
    assert lines(found) == [f"police rate {rate} burst {burst}B", "fq_codel@linux"] and found.notes == ()


def test_a_redirection_as_shown() -> None:
    found = import_text(
        "qdisc cake 1: dev wan0 root refcnt 2 bandwidth 9Mbit\nqdisc ingress ffff: dev wan0 parent ffff:fff1 -----\n"
        "qdisc cake 2: dev x0 root refcnt 2 bandwidth 41Mbit\n"
        "filter parent ffff: protocol all pref 10 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 terminal flowid\n"
        "  match 00000000/00000000 at 0\n\taction order 1: mirred (Egress Redirect to device x0) stolen\n",
        "a",
        ImportOptions(),
    )
    assert found.understood[0].startswith("to the home: x0") and found.understood[1].startswith("from the home: wan0")
    assert found.notes == ()


@pytest.mark.parametrize("words", ["u32 match u32 0 0", "u32 match ip dst 0.0.0.0/0", "u32 match ip protocol 0 0x00"])
def test_a_case_from_the_field(shared: Path, tmp_path: Path, words: str) -> None:
    script = (shared / "cases/25/run.sh").read_text()
    assert f'"{words}"' in script
    (tmp_path / "tc.sh").write_text(script.partition("<<X\n")[2].partition("\nX\n")[0].replace("$f", words))
    reverse = sj.Scenario.parse(load(tmp_path / "tc.sh").text).document["reverse"]
    assert reverse["aqm"]["default"] == "2"
