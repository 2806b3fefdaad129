"""`sojourn import tc`: configurations of programs that run tc, known by their content."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import sojourn as sj
from conftest import Cli, printed_json
from sojourn.apps.cli import cli as group
from sojourn.base.errors import InputError
from sojourn.io.tc.front_ends import qosmate, registry, uci
from sojourn.io.tc.front_ends.translation import Translation
from sojourn.io.tc.scenario import ImportedScenario, ImportOptions, import_text, load_stream

QOSIFY = """config defaults
	list defaults /etc/qosify/*.conf
	option dscp_icmp +besteffort
config class besteffort
	option ingress CS0
	option egress CS0
config interface wan
	option name wan
	option disabled 0
	option bandwidth_up 37mbit
	option bandwidth_down 93mbit
	option overhead_type none
	option ingress 1
	option egress 1
	option mode diffserv4
	option nat 1
	option host_isolate 1
	option autorate_ingress 0
	option ingress_options ""
	option egress_options ""
	option options "overhead 44 mpu 84"
"""
QOSMATE = """config settings 'settings'
	option WAN 'eth1'
	option DOWNRATE '93000'
	option UPRATE '37000'
	option ROOT_QDISC '{}'
config cake 'cake'
	option COMMON_LINK_PRESETS 'ethernet'
	option OVERHEAD '44'
	option MPU '96'
	option PRIORITY_QUEUE_INGRESS 'diffserv4'
	option HOST_ISOLATION '1'
	option ACK_FILTER_EGRESS 'auto'
"""
AUTORATE = """dl_if=ifb4wan
ul_if=wan
min_dl_shaper_rate_kbps=5000
base_dl_shaper_rate_kbps=21000
max_dl_shaper_rate_kbps=80000
min_ul_shaper_rate_kbps=5000
base_ul_shaper_rate_kbps=19000
max_ul_shaper_rate_kbps=35000
"""
NETWORK = """{
  "Hill": {"downloadBandwidthMbps": 900, "uploadBandwidthMbps": 450, "type": "Site", "children": {
    "Mast": {"downloadBandwidthMbps": 230, "uploadBandwidthMbps": 70, "type": "AP"}
  }}
}
"""
DEVICES = """Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,Upload Min Mbps,\
Download Max Mbps,Upload Max Mbps,Comment
# a comment
7001,"1 Main St., Hilltown",1,router,Mast,,100.64.0.1,,25,5,110,22,
7002,"2 Main St., Hilltown",2,cpe,Mast,,"100.64.0.2, 100.64.0.3",,1,1,3.5,1.25,
"""


def imported(text: str, **wanted: str) -> ImportedScenario:
    return import_text(text, "router", ImportOptions(**wanted))


def queues(text: str, **wanted: str) -> tuple[Any, Any]:
    """Queue managers to and from the home of an imported scenario."""
    document = sj.Scenario.parse(imported(text, **wanted).text).document
    return document["link"]["aqm"], document["reverse"]["aqm"]


def words(text: str, **wanted: str) -> list[str]:
    """Queue managers to and from the home in our syntax."""
    return [one.split(", ", 1)[1] for one in imported(text, **wanted).understood]


def test_qosify() -> None:
    assert words(QOSIFY) == [
        "cake bandwidth 93Mbit/s tins diffserv4 isolation dual-dsthost ingress overhead 44 mpu 84",
        "cake bandwidth 37Mbit/s tins diffserv4 isolation dual-srchost overhead 44 mpu 84",
    ]
    found = imported(QOSIFY)
    assert [one.split(":")[0] for one in found.notes] == ["line 1", "line 4"]
    assert all(f"# Not understood: {one}\n" in found.text for one in found.notes)


@pytest.mark.parametrize(
    ("changes", "down", "up"),
    [
        # Rates are tc's; `bandwidth` is that of both directions.
        ({"37mbit": "900kbit", "93mbit": "12.5mbit"}, "bandwidth 12.5Mbit/s", "bandwidth 900kbit/s"),
        ({"_up 37mbit": " 20Mbit", "option bandwidth_down 93mbit": ""}, "bandwidth 20Mbit/s", "bandwidth 20Mbit/s"),
        ({"_up 37mbit": " 20Mbit"}, "bandwidth 93Mbit/s", "bandwidth 20Mbit/s"),
        ({"host_isolate 1": "host_isolate 0"}, "isolation flows", "isolation flows"),
        ({"mode diffserv4": "mode 'besteffort'"}, "besteffort", "besteffort"),
        ({"option mode diffserv4": ""}, "diffserv4", "diffserv4"),
        ({'ingress_options ""': 'ingress_options "rtt 30ms wash"'}, "rtt 30ms wash", ""),
        ({'egress_options ""': "egress_options 'ack-filter memlimit 2mb'"}, "", "ack_filter filter"),
        ({"overhead_type none": "overhead_type pppoe-ptm"}, "overhead 44 mpu 84 layer ptm", "layer ptm"),
        (
            {"type none": "type manual\n option overhead 18\n option overhead_encap atm", '"overhead 44 mpu 84"': "''"},
            "overhead 18 layer atm",
            "overhead 18 layer atm",
        ),
        (
            {
                "type none": "type ethernet\n option overhead_mpu 70\n option overhead_vlan 2",
                '"overhead 44 mpu 84"': '""',
            },
            "overhead 46 mpu 70",
            "overhead 46 mpu 70",
        ),
        ({"autorate_ingress 0": "autorate_ingress 1"}, "autorate_ingress", ""),
        # Quotes join words as in a shell, and comments end lines.
        (
            {"37mbit": "3'7'\"mbit\" # of the contract", "93mbit": "9\\3mbit"},
            "bandwidth 93Mbit/s",
            "bandwidth 37Mbit/s",
        ),
        ({"\n": "\r\n"}, "bandwidth 93Mbit/s", "bandwidth 37Mbit/s"),
    ],
)
def test_options_of_qosify(changes: dict[str, str], down: str, up: str) -> None:
    text = QOSIFY
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    found = load_stream(io.BytesIO(text.encode()))
    to_home, from_home = found.understood
    assert down in to_home and up in from_home
    assert len(found.notes) == 2


def test_directions_and_sections_of_qosify() -> None:
    only = words(QOSIFY.replace("option ingress 1", "option ingress 0"))
    assert only[0] == "1 Gbit/s without bulk" and only[1].startswith("cake bandwidth 37Mbit/s")
    disabled = QOSIFY.replace("disabled 0", "disabled yes")
    with pytest.raises(InputError, match="no interface of it is enabled; set option disabled '0'"):
        imported(disabled)
    second = QOSIFY[QOSIFY.index("config interface") :].replace("wan", "wan2").replace("93mbit", "11mbit")
    found = imported(disabled + second)
    assert "cake bandwidth 11Mbit/s" in found.understood[0]
    assert "line 7: config interface wan: it is disabled and left out" in found.notes
    # Of two interfaces one is used, and the other is reported.
    found = imported(QOSIFY + second)
    assert "93Mbit" in found.understood[0] and sum("wan2: cake is left out" in one for one in found.notes) == 2
    assert "11Mbit" in imported(QOSIFY + second, download="ifb-wan2", upload="wan2").understood[0]
    device = QOSIFY.replace("config interface wan", "config device").replace("option nat 1", "option rate_limit 5")
    assert "line 16: option rate_limit '5'" in imported(device).notes


def test_guesses_and_odd_values_of_qosify() -> None:
    found = imported(QOSIFY.replace("option name wan", ""))
    assert any("option name is missing" in one for one in found.assumed) and "wan" in found.understood[1]
    found = imported(QOSIFY.replace("host_isolate 1", "host_isolate yes"))
    assert "isolation flows" in found.understood[0]
    assert "line 17: option host_isolate 'yes' counts as 0; qosify reads numbers alone" in found.assumed
    found = imported(QOSIFY.replace("mode diffserv4", "mode diffserv5").replace("type none", "type carrier-pigeon"))
    assert any("diffserv5" in one for one in found.notes)
    assert "line 12: option overhead_type 'carrier-pigeon'" in found.notes
    found = imported(QOSIFY.replace('"overhead 44 mpu 84"', '"overhead \'44"'))
    assert any("qosify ignores a value with a quote in it" in one for one in found.notes)
    found = imported(QOSIFY.replace("option mode diffserv4", "option mode 'diffserv4\n\tfrobnicate\n\toption"))
    assert [one for one in found.notes if one[:7] in ("line 15", "line 16", "line 17")] == [
        "line 15: option mode 'diffserv4",
        "line 16: frobnicate",
        "line 17: option",
    ]
    with pytest.raises(InputError, match='line 7: cake bandwidth: "fast" is not a rate of tc'):
        imported(QOSIFY.replace("37mbit", "fast"))


def test_uci_show_is_the_same() -> None:
    shown = """qosify.@defaults[0]=defaults
qosify.@defaults[0].dscp_icmp='+besteffort'
qosify.wan=interface
qosify.wan.name='wan'
qosify.wan.bandwidth_up='37mbit'
qosify.wan.bandwidth_down='93mbit'
qosify.wan.overhead_type='none'
qosify.wan.options='overhead 44 mpu 84'
"""
    assert words(shown) == words(QOSIFY)
    sqm = "sqm.eth1=queue\nsqm.eth1.enabled='1'\nsqm.eth1.interface='eth1'\nsqm.eth1.download='9000'\n"
    assert words(f"{sqm}sqm.eth1.upload='800'\nsqm.eth1.script='piece_of_cake.qos'\nsqm.eth1.qdisc='cake'\n") == [
        "cake bandwidth 9Mbit/s tins besteffort wash",
        "cake bandwidth 800kbit/s tins besteffort",
    ]


def test_configurations_that_are_not_qosifys() -> None:
    network = (
        "config interface 'wan'\n option device 'eth1'\n option proto 'dhcp'\nconfig device\n option name 'br-lan'\n"
    )
    assert registry.translate(network, ImportOptions()) is None
    with pytest.raises(InputError, match=", ".join(registry.FRONT_ENDS)):
        imported(network)
    found = imported(QOSMATE.format("cake") + QOSIFY)
    assert "the configuration of QoSmate: that of qosify is read; give one at a time" in found.notes


def test_the_default_route_beside_a_configuration() -> None:
    text = (
        QOSIFY.replace("name wan", "name eth7") + "default via 192.0.2.1 dev eth7 proto static\n192.0.2.0/24 dev eth7\n"
    )
    found = imported(text)
    assert "eth7" in found.understood[1] and len(found.notes) == 2


def test_qosmate_with_cake() -> None:
    assert words(QOSMATE.format("cake")) == [
        "cake bandwidth 93Mbit/s tins diffserv4 isolation dual-dsthost wash ingress overhead 44 mpu 96",
        "cake bandwidth 37Mbit/s tins diffserv4 isolation dual-srchost wash overhead 44 mpu 96",
    ]
    assert imported(QOSMATE.format("cake")).notes == ()


ADVANCED = """config advanced 'advanced'
	option COMMON_LINK_PRESETS 'pppoe-ptm'
	option OVERHEAD '31'
	option WASHDSCPUP '0'
	option ETHER_VLAN_KEYWORD 'ether-vlan'
"""


@pytest.mark.parametrize(
    ("changes", "down", "up"),
    [
        # `auto` filters acknowledgements if the download is 15 times the upload.
        ({"37000": "6200"}, "", "ack_filter filter"),
        ({"37000": "6201"}, "", "bandwidth 6.201Mbit/s tins diffserv4 isolation dual-srchost wash overhead"),
        ({"'auto'": "'1'"}, "", "ack_filter filter"),
        (
            {"HOST_ISOLATION '1'": "HOST_ISOLATION '0'\n option NAT_EGRESS '0'\n option RTT '35'"},
            "rtt 35ms",
            "rtt 35ms",
        ),
        ({"INGRESS 'diffserv4'": "INGRESS 'besteffort'"}, "tins besteffort", "tins diffserv4"),
        ({"config cake 'cake'": ADVANCED + "config cake"}, "overhead 35 layer ptm", "isolation dual-srchost overhead"),
        ({"'auto'": "'0'\n option AUTORATE_INGRESS '1'"}, "autorate_ingress", ""),
        ({"'auto'": "'0'\n option EXTRA_PARAMETERS_EGRESS 'memlimit 4mb'"}, "", "memlimit 4194304B"),
        # At most 20 times the upload.
        ({"37000": "2000"}, "bandwidth 40Mbit/s", "bandwidth 2Mbit/s"),
    ],
)
def test_options_of_qosmate(changes: dict[str, str], down: str, up: str) -> None:
    text = QOSMATE.format("cake")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    to_home, from_home = imported(text).understood
    assert down in to_home and up in from_home


def test_qosmate_with_htb() -> None:
    text = QOSMATE.format("htb") + "config advanced\n option COMMON_LINK_PRESETS 'docsis'\n"
    document = sj.Scenario.parse(imported(text).text).document
    assert document["link"]["overhead"] == "25 B"
    inside = document["reverse"]["aqm"]["name"]
    # 37,000 kbit/s: 15 + 50,000 / 37,000 = 16 % for priority, up to a third; a sixth each for the others.
    assert "class 1 rate 37Mbit/s ceil 37Mbit/s burst 4625B cburst 4625B" in inside
    assert "class 11 parent 1 rate 5.92Mbit/s ceil 12.333Mbit/s burst 7400B cburst 3700B" in inside
    assert "class 13 parent 1 rate 6.166Mbit/s ceil 36.984Mbit/s" in inside
    assert "match dscp EF" in inside and "match dscp CS1" in inside
    assert document["reverse"]["aqm"]["default"] == "13"


def test_qosmate_with_hfsc_is_htb_as_near_as_it_goes() -> None:
    text = QOSMATE.format("hfsc")
    found = imported(text)
    inside = sj.Scenario.parse(found.text).document["link"]["aqm"]["name"]
    assert "class 1 rate 93Mbit/s ceil 93Mbit/s" in inside
    # Games have 15 % and 400 kbit/s; the queue is 24 ms of packets of 450 B, and 5 packets.
    assert "class 11 parent 1 rate 14.35Mbit/s ceil 93Mbit/s" in inside
    assert "class 12 parent 1 rate 27.9Mbit/s" in inside and "class 15 parent 1 rate 9.3Mbit/s" in inside
    assert any("hfsc is not supported; htb is the nearest" in one for one in found.notes)
    assert any("limit of 625 packets" in one for one in found.notes)
    assert [int(one[5:7].rstrip(":")) for one in found.notes] == [7, 8, 9, 1, 1, 1, 1]
    atm = (
        "config hfsc\n option LINKTYPE 'atm'\n option OH '28'\n option gameqdisc 'netem'\n"
        " option netem_direction 'egress'\n"
    )
    document = sj.Scenario.parse(imported(text + atm).text).document
    assert (document["link"]["framing"], document["link"]["overhead"], document["link"]["mpu"]) == (
        "atm",
        "28 B",
        "68 B",
    )
    assert "netem" in document["reverse"]["aqm"]["name"] and "netem" not in document["link"]["aqm"]["name"]
    for kind in ("bfifo", "red", "fq_codel", "drr", "qfq", "netem", "mine"):
        words(text + f"config hfsc\n option gameqdisc '{kind}'\n")
    hybrid = queues(QOSMATE.format("hybrid"))[1]["name"]
    assert "class 13 parent 1 rate 31.05Mbit/s ceil 37Mbit/s" in hybrid and "cake tins besteffort" in hybrid


def test_what_qosmate_has_beside_queues_is_said() -> None:
    text = QOSMATE.format("cake") + (
        "config advanced\n option TCP_UPGRADE_ENABLED '1'\n option UDP_RATE_LIMIT_ENABLED '0'\n option NEWER '3'\n"
        " option MSS '536'\nconfig rule\n option name 'cod'\n option class 'cs5'\nconfig ipset 'x'\n"
        "config autorate\n option enabled '1'\n"
    )
    found = imported(text)
    assert found.notes == (
        "line 18: config rule: rules for ports and hosts, which flows here do not have",
        "line 21: config ipset x: rules for ports and hosts, which flows here do not have",
        "line 14: option TCP_UPGRADE_ENABLED '1': rules about single flows are not simulated",
        "line 16: option NEWER '3'",
    )
    assert "line 22: autorate: the rates stay at UPRATE and DOWNRATE" in found.assumed
    newer = QOSMATE.format("cake") + ADVANCED
    assert "line 8: option OVERHEAD '44': QoSmate reads the section advanced instead" in imported(newer).notes


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("'93000'", "'fast'", "line 3: DOWNRATE: 'fast' is not a whole number"),
        ("'93000'", "'99999999999'", "line 3: DOWNRATE: '99999999999' is not a whole number"),
        ("'93000'", "'0'", "line 3: DOWNRATE is 0, and cake then does not shape"),
        ("'auto'", "'maybe'", "line 12: ACK_FILTER_EGRESS: 'maybe'"),
        ("config cake", "config global\n option enabled '0'\nconfig cake", "it is disabled; set option enabled '1'"),
    ],
)
def test_bad_values_of_qosmate(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(QOSMATE.format("cake").replace(old, new))


def test_missing_values_of_qosmate_are_its_defaults() -> None:
    found = imported("config settings\n option UPRATE '9000'\n option ROOT_QDISC 'cake'\n")
    assert "bandwidth 90Mbit/s" in found.understood[0] and "bandwidth 9Mbit/s" in found.understood[1]
    assert {"line 1: WAN is missing; eth1 of QoSmate's defaults is taken"} < set(found.assumed)
    assert any("DOWNRATE is missing; 90000" in one for one in found.assumed)
    found = imported(QOSMATE.format("mine"))
    assert any("ROOT_QDISC 'mine' is unknown; hfsc is taken" in one for one in found.assumed)


def test_link_layers_of_qosmate() -> None:
    own = "config advanced\n option COMMON_LINK_PRESETS '{}'\n option OVERHEAD '30'\n option MPU '72'\n"
    cake, htb = (QOSMATE.format(root).split("config cake")[0] for root in ("cake", "htb"))
    for preset, inside in [
        ("ethernet", "overhead 30 mpu 72"),
        ("docsis", "overhead 30 mpu 72"),
        ("cake-ethernet", "overhead 38 mpu 72"),
        ("conservative", "overhead 30 mpu 72 layer atm"),
        ("pppoe-llcsnap", "overhead 30 mpu 72 layer atm"),
        ("carrier-pigeon", "overhead 30 mpu 72"),
    ]:
        found = imported(cake + own.format(preset))
        assert found.understood[1].endswith(inside), preset
        assert any("OVERHEAD '30': QoSmate ignores it" in one for one in found.notes) == (preset == "cake-ethernet")
        assert any("counts as ethernet" in one for one in found.assumed) == (preset == "carrier-pigeon")
    found = imported(htb + own.format("docsis"))
    assert "line 9: option MPU '72': QoSmate has it for CAKE alone" in found.notes
    assert sj.Scenario.parse(found.text).document["link"]["overhead"] == "30 B"


def test_known_options_of_qosmate_cover_its_defaults() -> None:
    for kind, defaults in qosmate.DEFAULTS.items():
        assert defaults.keys() <= set(qosmate.KNOWN[kind])


def test_cake_autorate() -> None:
    found = imported(AUTORATE)
    assert words(AUTORATE) == ["cake bandwidth 21Mbit/s", "cake bandwidth 19Mbit/s"]
    assert "to the home: ifb4wan" in found.understood[0] and "from the home: wan" in found.understood[1]
    assert found.assumed[0] == (
        "line 4: the bandwidth stays at 21000 kbit/s, the base rate; cake-autorate moves it between 5000 and 80000"
    )
    assert found.notes == ()


def test_shell_of_cake_autorate() -> None:
    text = (
        "#!/usr/bin/env bash\n# shellcheck disable=SC2034\n"
        "export dl_if=\"ifb-wwan0\"  # download\nul_if='wwan0'; adjust_dl_shaper_rate=1\n"
        "base_dl_shaper_rate_kbps=30000\nbase_dl_shaper_rate_kbps=31000 # again\nadjust_ul_shaper_rate=0\n"
        'reflectors=(\n"1.1.1.1" "1.0.0.1"  # one (of them)\n"8.8.8.8"\n)\nno_pingers=4\nmine=7\n. ./more.sh\n'
        'ping_prefix_string="mwan3 use gpon exec"\n'
    )
    for given in (text, text.replace("\n", "\r\n")):
        found = load_stream(io.BytesIO(given.encode()))
        assert [one.split(", ")[1] for one in found.understood] == [
            "cake bandwidth 31Mbit/s",
            "cake bandwidth 20Mbit/s",
        ]
        assert "wwan0" in found.understood[1]
        assert found.notes == (
            "line 14: . ./more.sh",
            "line 13: mine=7",
            "the controller is not simulated: reflectors, no_pingers, ping_prefix_string",
        )
        assert any("base_ul_shaper_rate_kbps is missing" in one for one in found.assumed)
        assert any("adjust_ul_shaper_rate=0 leaves it as it was set" in one for one in found.assumed)


def test_the_cake_of_cake_autorate_beside_it() -> None:
    shown = """qdisc noqueue 0: dev lo root refcnt 2
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
qdisc cake 8005: dev wan root refcnt 2 bandwidth 7Mbit diffserv4 dual-srchost nat nowash ack-filter overhead 22
 Sent 1 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
 memory used: 0b of 4Mb
qdisc cake 8006: dev ifb4wan root refcnt 2 bandwidth 9Mbit besteffort dual-dsthost wash ingress overhead 22
default via 192.0.2.1 dev wan
"""
    found = imported(AUTORATE + shown)
    assert [one.split(", ", 1)[1] for one in found.understood] == [
        "cake bandwidth 21Mbit/s tins besteffort isolation dual-dsthost wash ingress overhead 22",
        "cake bandwidth 19Mbit/s tins diffserv4 isolation dual-srchost ack_filter filter overhead 22",
    ]
    assert found.notes == ("line 9: qdisc noqueue 0: dev lo root refcnt 2",)
    assert not any("default parameters" in one for one in found.assumed)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("21000", "$((20*1000))", "line 4: base_dl_shaper_rate_kbps"),
        ("21000", "", "line 4: base_dl_shaper_rate_kbps: ''"),
        ("21000", "0", "line 4: base_dl_shaper_rate_kbps: '0'"),
        ("21000", "1e5", "is not a number of kbit/s; write e.g. 20000"),
        ("ifb4wan", "wan", "dl_if and ul_if are both wan"),
    ],
)
def test_bad_values_of_cake_autorate(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        imported(AUTORATE.replace(old, new))
    assert message in str(error.value)


def test_a_device_that_only_the_shell_knows() -> None:
    found = imported(AUTORATE.replace("=wan\n", "=$(uci get network.wan.device)\n"))
    assert "line 2: $(uci get network.wan.device)" not in found.notes
    assert "wan" in found.understood[1] and found.assumed


def test_a_subscriber_of_libreqos() -> None:
    found = imported(DEVICES, class_id="7001")
    document = sj.Scenario.parse(found.text).document
    assert "class 1 rate 25Mbit/s ceil 110Mbit/s prio 3 { cake tins diffserv4 }" in document["link"]["aqm"]["name"]
    assert "rate 5Mbit/s ceil 22Mbit/s" in document["reverse"]["aqm"]["name"]
    assert "line 3: its node Mast is never the bottleneck; network.json is not in the input" in found.assumed
    for name in ("2 main st., hilltown", "cpe", "7002"):
        down, up = queues(DEVICES, class_id=name)
        # CAKE gets a longer RTT on slow links; rates have one digit after the point.
        assert "ceil 3.5Mbit/s prio 3 { cake tins diffserv4 rtt 120ms }" in down["name"]
        assert "ceil 1.2Mbit/s prio 3 { cake tins diffserv4 rtt 180ms }" in up["name"]


@pytest.mark.parametrize("text", [NETWORK + DEVICES, DEVICES + NETWORK])
def test_a_subscriber_below_its_nodes(text: str) -> None:
    inside = queues(text, class_id="7001")[0]["name"]
    assert "class 1 rate 900Mbit/s ceil 900Mbit/s" in inside
    assert "class 2 parent 1 rate 230Mbit/s ceil 230Mbit/s" in inside
    assert "class 3 parent 2 rate 25Mbit/s ceil 110Mbit/s" in inside
    assert not any("Mast" in one for one in imported(text, class_id="7001").assumed)


def test_a_tree_of_libreqos_alone() -> None:
    found = imported(NETWORK)
    inside = sj.Scenario.parse(found.text).document["link"]["aqm"]["name"]
    assert "class 2 parent 1 rate 230Mbit/s ceil 230Mbit/s" in inside
    assert "line 3: Mast is one subscriber; ShapedDevices.csv is not in the input" in found.assumed
    fast = NETWORK.replace("230", "2500").replace("900", "9000")
    assert "{ fq_codel@linux }" in queues(fast)[0]["name"]
    two = json.dumps(
        {
            "A": {
                "downloadBandwidthMbps": 9,
                "uploadBandwidthMbps": "8",
                "virtual": True,
                "children": {"B": {"downloadBandwidthMbps": 5, "uploadBandwidthMbps": 4, "latitude": 3}, "C": {}},
            }
        }
    )
    with pytest.raises(InputError, match="choose a subscriber with --class: B, C"):
        imported(two)
    found = imported(two, class_id="B")
    assert "line 1: B: latitude" not in found.notes  # of the subscriber itself
    assert "class 1 rate 5Mbit/s ceil 5Mbit/s" in sj.Scenario.parse(found.text).document["link"]["aqm"]["name"]


@pytest.mark.parametrize(
    ("text", "wanted", "message"),
    [
        (DEVICES, None, "choose a subscriber with --class: 7001, 7002"),
        (DEVICES, "7003", "--class: 7003 is no subscriber; expected one of: 7001, 7002"),
        (DEVICES.replace(",110,", ",fast,"), "7001", "line 3: downloadmax: 'fast' is not a rate in Mbit/s"),
        (DEVICES.replace(",110,", ",nan,"), "7001", "line 3: downloadmax: 'nan' is not a rate in Mbit/s"),
        (DEVICES.replace(",110,", ",1e300,"), "7001", "line 3: downloadmax: '1e300' is not a rate in Mbit/s"),
        (DEVICES.replace("7001,", ","), None, "line 3: no Circuit ID"),
        (DEVICES.replace('Hilltown"', "Hilltown"), None, "fix the quotes of the row"),
        (DEVICES.replace("Upload Max Mbps", "Upload"), None, "line 1: no column uploadmax"),
        (DEVICES.split("7001")[0], None, "ShapedDevices.csv without a subscriber"),
        (NETWORK.replace("230", '"fast"'), None, "line 3: Mast: downloadBandwidthMbps: 'fast' is not a rate"),
        (NETWORK.replace("230", "true"), None, "line 3: Mast: downloadBandwidthMbps: 'True' is not a rate"),
        (NETWORK[:-4], None, "network.json: "),
        (NETWORK.replace('"type": "AP"', '"children": 4'), None, "line 3: Mast: children are no nodes"),
        ('{"a":' * 200 + '{"downloadBandwidthMbps": 1}' + "}" * 200, None, "nested more than 64 deep"),
    ],
)
def test_bad_input_of_libreqos(cli: Cli, tmp_path: Path, text: str, wanted: str | None, message: str) -> None:
    (tmp_path / "file").write_text(text)
    ran = cli("import", "tc", "file", *(("--class", wanted) if wanted else ()))
    assert ran.exit_code == 2 and message in ran.output and ran.output.count("\n") == 1


def test_columns_and_devices_of_libreqos() -> None:
    text = DEVICES.replace("Comment", "sqm,Colour").replace("110,22,", "110,22,cake/none,red").replace("1,1,3", "0,,3")
    text += "7001,again,3,phone,Mast,,,,25,5,111,22,\n"
    found = imported("\ufeff" + text, class_id="7001")
    down, up = queues(text, class_id="7001")
    assert "{ cake tins diffserv4 }" in down["name"] and "cake" not in up["name"]
    assert found.notes == ("line 1: column Colour",)
    assert "line 5: circuit 7001 has the rates of its first device, line 3" in found.assumed
    assert "line 4: uploadmin '' is 0.1 Mbit/s, LibreQoS's minimum" in found.assumed
    many = DEVICES + "".join(f"8{n:03},,,,,,,,1,1,9,9,\n" for n in range(900))
    with pytest.raises(InputError, match=r"7001, 7002, 8000, .* and 890 others"):
        imported(many)


DNCTL = """pipe 10000 config bw 95Mbit/s
sched 10000 config pipe 10000 type fq_codel target 5 interval 100 quantum 1514 limit 10240 flows 1024 ecn
queue 10000 config pipe 10000 codel ecn
"""
LIMITERS = """# of pfSense
pipe 1 config  bw 95Mb  droptail
sched 1 config pipe 1 type fq_codel target 5ms interval 100ms quantum 300 limit 10240 flows 20480 noecn
queue 1 config pipe 1 mask dst-ip6 /128 dst-ip 0xffffffff droptail
/sbin/dnctl -q pipe 2 config bw 1187.5KByte/s queue 77 codel target 8 ecn # up
"""


def test_pipes_of_dummynet() -> None:
    found = imported(DNCTL)
    assert 'aqm = "tbf rate 95Mbit/s burst 1600B { fq_codel@linux }"' in found.text
    assert "line 1: pipe10000 sends to the home, by their order; --download and --upload choose" in found.assumed
    assert found.notes == ("line 3: queue 10000: codel is left out, fq_codel is used",)
    text = imported(LIMITERS).text
    assert "tbf rate 95Mbit/s burst 1600B { fq_codel@linux flows 20480 quantum 300B noecn }" in text
    assert "tbf rate 9.5Mbit/s burst 1600B { codel@linux target 8ms ecn }" in text and 'limit = "77 packets"' in text
    assert imported(LIMITERS).notes == ("line 4: queue 1: mask: all traffic shares the queue",)
    swapped = imported(LIMITERS, download="pipe2", upload="pipe1")
    assert "pipe2" in swapped.understood[0] and "pipe1" in swapped.understood[1]


def test_words_of_dummynet() -> None:
    found = imported(
        "pipe 7 config bw 9Mbit/s delay 20 plr 0.01 frob queue 30KB pie target 15 alpha 0.1 noerror\nallow ip\n"
    )
    assert found.notes == (
        "line 1: pipe 7: delay 20: delays are those of the flows (rtt)",
        "line 1: pipe 7: plr 0.01: set loss of the link",
        "line 1: pipe 7: frob",
        "line 2: allow ip",
        "line 1: pie: alpha",
        "line 1: pie: 0.1",
    )
    assert "line 1: pie: its limit of 30000 B is 20 packets of 1500 B" in found.assumed
    for text, message in [
        ("pipe 1 config\n", "line 1: pipe 1: no bw"),
        ("pipe 1 config bw fast\n", "line 1: pipe 1: bw 'fast' is not a rate; write e.g. bw 95Mbit/s"),
        ("pipe 1 config bw 0\n", "line 1: pipe 1: bw '0' is not a rate"),
        ("pipe 1 config bw 1Mb codel target soon\n", "line 1: codel target: 'soon' is not a time in ms"),
        ("queue 1 config pipe 1\n", "no pipe in it"),
    ]:
        with pytest.raises(InputError) as error:
            imported(text)
        assert message in str(error.value)


CONTAINERS = """#!/bin/sh
docker exec -it clab-lab-r1 tc qdisc add dev eth1 root handle 1: tbf rate 20mbit burst 16kb latency 50ms
sudo ip netns exec r2 /sbin/tc qdisc add dev eth1 root netem delay 30ms rate 5mbit
containerlab tools netem set -n clab-lab-r3 -i eth2 --delay 5ms --jitter=1ms --loss 0.5 --rate 7000 --ttl 3
"""


def test_tc_in_containers() -> None:
    found = imported(CONTAINERS, download="clab-lab-r1:eth1", upload="clab-lab-r3:eth2")
    document = sj.Scenario.parse(found.text).document
    assert document["link"]["aqm"]["rate"] == "20 Mbit/s"
    netem = document["reverse"]["aqm"]
    assert (netem["delay"], netem["jitter"], netem["rate"], netem["loss"]) == ("5 ms", "1 ms", "7 Mbit/s", 0.5)
    assert "line 4: netem set: --ttl" in found.notes and "line 4: netem set: 3" in found.notes
    assert "line 3: r2:eth1: netem is left out; --download and --upload name devices" in found.notes
    by_order = imported(CONTAINERS.replace("containerlab", "# "))
    assert "from the home: clab-lab-r1:eth1" in by_order.understood[1] and "r2:eth1" in by_order.understood[0]
    with pytest.raises(InputError, match=r"line 1: r:eth1 does not shape.*--rate"):
        imported("clab tools netem set --node r --interface eth1 --delay 4ms\n")
    alone = "clab tools netem set --delay 4ms\ntc qdisc add dev eth1 root tbf rate 1mbit burst 5k latency 9ms\n"
    assert "line 1: netem set: without --node and --interface; it is left out" in imported(alone).notes


def test_every_front_end_by_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text in (QOSIFY, QOSMATE.format("cake"), AUTORATE, NETWORK, DNCTL):
        ran = CliRunner().invoke(group, ["import", "tc", "-", "-o", "out.toml", "--json"], input=text)
        assert len(printed_json(ran)["understood"]) == 2
        assert sj.Scenario.load("out.toml").document["duration"] == "60 s"


def test_hostile_sizes(tmp_path: Path) -> None:
    for text in (QOSIFY + "#" * (1 << 20), AUTORATE + "\n" * (1 << 20)):
        with pytest.raises(InputError, match="more than 1 MiB"):
            imported(text)
    for text in ("\n" * 4_000_000, " " * 4_000_000, "'" * 1_000_000, 'config "' + "\\" * 900_000, "(" * 1_000_000):
        assert registry.translate(text, ImportOptions()) is None
    assert len(uci.read("config a\n" + "option b c\n" * 50_000, Translation(ImportOptions()))) == 1


def test_hostile_text_makes_one_line_or_a_scenario() -> None:
    draw = random.Random(77)
    texts = [QOSIFY, *(QOSMATE.format(root) for root in qosmate.ROOTS), AUTORATE, NETWORK, DEVICES, NETWORK + DEVICES]
    texts += [DNCTL, LIMITERS, CONTAINERS]
    for _ in range(500):
        text = list(draw.choice(texts))
        for _ in range(draw.randrange(1, 12)):
            place = draw.randrange(len(text))
            text[place : place + draw.randrange(1, 9)] = draw.choice(
                ["", "\n", "0", "-", "x", '"', "'", "\\", "$(reboot)", "9" * 30, "\x1b", ";", "#", "{", "٣", "{}"]
            )
        try:
            wanted = ImportOptions(rate="9 Mbit/s", class_id=draw.choice([None, "7001", "Mast"]))
            sj.Scenario.parse(import_text("".join(text), "mutated", wanted).text)
        except InputError as error:
            assert "\n" not in str(error)
