"""`sojourn import tc`: variants of configurations, of which nothing is lost without a word."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

import sojourn as sj
from conftest import Cli
from sojourn.io.tc.scenario import ImportedScenario, ImportOptions, import_text, load

QOSIFY = """config interface wan
	option name eth0
	option bandwidth_up 20mbit
	option bandwidth_down 100mbit
"""
SQM = """config queue
	option enabled '1'
	option interface 'eth1'
	option download '85000'
	option upload '10000'
	option qdisc 'cake'
	option script 'piece_of_cake.qos'
"""
PING = "PING 192.0.2.7 (192.0.2.7) 56(84) bytes of data.\n64 bytes from 192.0.2.7: icmp_seq=1 ttl=57 time=21.4 ms\n"


def imported(text: str, **options: str) -> ImportedScenario:
    return import_text(text, "router", ImportOptions(**options))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_files_of_other_systems(cli: Cli, tmp_path: Path, encoding: str) -> None:
    """A mark at the beginning is no text, and PowerShell writes UTF-16."""
    plain = imported(QOSIFY)
    file = tmp_path / "router"
    file.write_bytes(QOSIFY.replace("\n", "\r\n").encode(encoding))
    assert load(file).text == plain.text
    log = tmp_path / "log"
    log.write_bytes(PING.encode(encoding))
    assert "21.400" in cli("flent", "show", log).stdout
    broken = tmp_path / "broken"
    broken.write_bytes(codecs.BOM_UTF16_LE + b"a")
    refused = cli("import", "tc", broken)
    assert refused.exit_code == 2
    assert "not a text file" in refused.stderr


def test_a_section_that_replaces_another_is_said() -> None:
    device = "config device wandev\n\toption name eth0\n\toption bandwidth 66mbit\n"
    found = imported(QOSIFY + device)
    assert "bandwidth 66Mbit/s" in found.text
    assert "line 1: eth0: cake: line 5 adds cake in its place, which is taken" in found.notes
    twice = imported(SQM + SQM.replace("85000", "50000"))
    assert twice.notes == ("line 8: config queue: line 1 sets up eth1; sqm-scripts skips this section",)
    assert "bandwidth 85Mbit/s" in twice.text
    assert not imported(SQM).notes


@pytest.mark.parametrize("between", [";", " ; ", " && ", " || ", " & ", " >/dev/null 2>&1; ", " 2> /dev/null && "])
def test_commands_of_a_shell_in_one_line(between: str) -> None:
    commands = ["tc qdisc add dev eth0 root cake bandwidth 10mbit", "tc qdisc add dev ifb0 root cake bandwidth 20mbit"]
    found = imported(
        "tc qdisc del dev eth0 root 2>/dev/null; " + between.join(commands) + " # a; tc qdisc del dev ifb0 root\n"
    )
    assert not found.notes
    assert "eth0, cake bandwidth 10Mbit/s" in found.understood[1]
    assert "ifb0, cake bandwidth 20Mbit/s" in found.understood[0]


def test_statements_with_more_words_than_uci_allows() -> None:
    """libuci refuses them, so half of such a value is no value."""
    text = QOSIFY.replace("20mbit", "20 mbit")
    assert "line 3: option bandwidth_up 20 mbit" in imported(text, rate="100 Mbit/s").notes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (QOSIFY.replace("20mbit", "100"), "line 1: eth0 does not shape"),
        (QOSIFY.replace("20mbit", "9" * 20 + "gbit"), 'line 1: cake bandwidth: "99999999999999999999gbit" is above'),
        ("qdisc cake 1: dev eth0 root bandwidth 20bit\n", "line 1: eth0 does not shape"),
        (
            "tc qdisc add dev eth0 root red limit 400000 min 30000 max 90000 avpkt 1000 bandwidth 10mbit\n",
            "line 1: eth0 does not shape",
        ),
        ("pipe 1 config bw 999999999999Gbit/s\n", "line 1: tbf rate: .* is above 10 Tbit/s; write e.g."),
        (SQM.replace("'85000'", "'85mbit'"), "line 4: download: '85mbit' is not a number of kbit/s; write e.g."),
        (SQM.replace("piece_of_cake", "own"), "line 7: unknown script own.qos; expected one of"),
        (SQM.replace("'85000'", "'0'").replace("'10000'", "'0'"), "line 1: download and upload are 0"),
        ("containerlab tools netem set -n a -i b --rate 10mbit\n", "line 1: --rate 10mbit: not a whole number of kbit"),
        ("containerlab tools netem set -n a -i b --delay 50\n", "line 1: --delay 50: not a time with its unit"),
    ],
)
def test_values_that_make_no_shaper(text: str, message: str) -> None:
    with pytest.raises(sj.InputError, match=message):
        imported(text)


def test_files_of_libreqos_in_either_order() -> None:
    tree = '{"Site": {"downloadBandwidthMbps": 1000, "uploadBandwidthMbps": 500, "children": {}}}\n'
    head = "Circuit ID,Parent Node,Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps"
    rows = f"{head},Download Max Mbps\n1,Site,5,5,50,10,70\n"
    found = imported(rows + tree)
    assert "ceil 1Gbit/s" in found.text
    assert "ceil 50Mbit/s" in found.text
    assert "line 1: column Download Max Mbps" in found.notes
    assert "ceil 50Mbit/s" in imported(tree + rows).text


def test_commands_of_dummynet_in_one_line() -> None:
    found = imported("ipfw pipe 1 config bw 10Mbit/s queue 100; ipfw pipe 2 config bw 2Mbit/s type qfq # down; up\n")
    assert "tbf rate 10Mbit/s" in found.text
    assert "tbf rate 2Mbit/s" in found.text
    assert found.notes == ("line 1: type qfq: packets leave in their order",)


def test_values_of_dummynet_without_an_effect() -> None:
    text = "pipe 1 config bw 5Mbit/s\npipe 1 config bw 9Mbit/s queue 100\nsched 1 config pipe 1 type fq_codel\n"
    found = imported(text)
    assert "rate 9Mbit/s" in found.text
    assert found.notes == (
        "line 1: pipe 1: line 2 configures it anew",
        "line 2: pipe 1: queue 100: fq_codel has a limit of its own",
    )


@pytest.mark.parametrize(
    ("outside", "inside"), [("eth0", "ifb0"), ("eth0", "ifb4"), ("wan", "ifb-wan"), ("wan", "ifb4wan")]
)
def test_an_ifb_device_alone_is_one_direction(outside: str, inside: str) -> None:
    """`tc qdisc show` has no filters, so only the name tells; a device never has both directions."""
    lines = [
        f"qdisc cake 8001: dev {outside} root refcnt 2 bandwidth 10Mbit",
        f"qdisc cake 8002: dev {inside} root refcnt 2 bandwidth 20Mbit",
    ]
    for text in ("\n".join(lines), "\n".join(reversed(lines))):
        down, up = imported(text).understood
        assert down.endswith(f"{inside}, cake bandwidth 20Mbit/s")
        assert up.endswith(f"{outside}, cake bandwidth 10Mbit/s")
