"""`sojourn import tc`: output and commands of tc, and sqm-scripts' configuration, as scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import Result as Ran

import sojourn as sj
from conftest import Cli, printed_json
from sojourn.base.errors import InputError
from sojourn.io.tc import values
from sojourn.io.tc.front_ends import sqm
from sojourn.io.tc.scenario import ImportOptions, import_text, load

ROUTERS = Path(__file__).parent / "routers"


def table(name: str, **wanted: str) -> dict[str, Any]:
    """The canonical document of an imported scenario."""
    return sj.Scenario.parse(load(ROUTERS / name, ImportOptions(**wanted)).text).document


def of_line(line: str, **wanted: str) -> tuple[str, list[str]]:
    """A discipline of eth0 in our syntax, and its unsupported parts."""
    found = import_text(line, "a line", ImportOptions(rate="97 Mbit/s", download="eth0", **wanted))
    return next(text.split("eth0, ")[1] for text in found.understood if "eth0, " in text), list(found.notes)


@pytest.mark.parametrize(
    ("read", "text", "meant"),
    [
        # iproute2: k is 1024 in sizes and 1000 in rates; bps are bytes per second; times without a unit are in us.
        (values.size, "5Kb", "5120 B"),
        (values.size, "1599b", "1599 B"),
        (values.size, "15Kb/8", "15360 B"),
        (values.size, "10kbit", "1280 B"),
        (values.size, "32Mb", "33554432 B"),
        (values.size, "1e3b", "1000 B"),
        (values.size, "0x5dc", "1500 B"),
        (values.rate, ".5mbit", "500000 bit/s"),
        (values.packets, "2k", "2048"),
        (values.packets, "0x10", "16"),
        (values.rate, "17500Kbit", "17500000 bit/s"),
        (values.rate, "1.5mbps", "12000000 bit/s"),
        (values.rate, "2Mibit", "2097152 bit/s"),
        (values.rate, "64000", "64000 bit/s"),
        (values.time, "4999", "4999000 ns"),
        (values.time, "4.99ms", "4990000 ns"),
        (values.time, "2sec", "2000000000 ns"),
        (values.count, "10240p", "10240"),
        (values.count, "0x11", "17"),
        (values.count, "040p", "32"),
    ],
)
def test_numbers_are_tcs(read: Any, text: str, meant: str) -> None:
    assert read(text) == meant


@pytest.mark.parametrize("text", ["", "x", "5 Kb", "-1b", "1e999b", "٣b"])
def test_invalid_sizes_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a size of tc"):
        values.size(text)


@pytest.mark.parametrize(
    ("line", "spelled"),
    [
        (
            "qdisc fq_codel 8001: dev eth0 root refcnt 2 limit 10240p flows 1024 quantum 300 target 5ms interval 100ms "
            "memory_limit 32Mb ecn drop_batch 64",
            "fq_codel@linux quantum 300B",
        ),
        (
            "qdisc cake 8005: dev eth0 root refcnt 9 bandwidth 18Mbit diffserv4 dual-srchost nat nowash ack-filter "
            "split-gso rtt 30ms ptm overhead 30 mpu 68",
            "cake bandwidth 18Mbit/s tins diffserv4 isolation dual-srchost rtt 30ms ack_filter filter overhead 30 "
            "mpu 68 layer ptm",
        ),
        (
            "qdisc cake 8005: dev eth0 root bandwidth unlimited besteffort triple-isolate nonat nowash no-ack-filter "
            "no-split-gso rtt 100ms raw overhead 0",
            "cake tins besteffort nosplit_gso",
        ),
        (
            "qdisc pie 8001: dev eth0 root limit 777p target 21ms tupdate 16ms alpha 2 beta 20 ecn",
            "pie@linux target 21ms tupdate 16ms ecn",
        ),
        (
            "qdisc codel 8001: dev eth0 root limit 1000p target 4.99ms interval 100ms ecn",
            "codel@linux target 4.99ms ecn",
        ),
        ("qdisc tbf 1: dev eth0 root rate 10Mbit burst 5Kb lat 50ms", "tbf rate 10Mbit/s burst 5120B latency 50ms"),
        ("qdisc pfifo_fast 0: dev eth0 root refcnt 2 bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1", "pfifo_fast"),
        (
            "qdisc sfq 8001: dev eth0 root limit 127p quantum 1514b depth 63 divisor 1024 perturb 10sec",
            "sfq perturb_period 10s depth 63",
        ),
        (
            "tc qdisc add dev eth0 root red limit 400kb min 30kb max 90kb avpkt 1000 probability 0.03 ecn",
            "red@linux min 30720B max 92160B probability 0.03 ecn",
        ),
        ("sudo /sbin/tc qdisc replace dev eth0 root pfifo limit 61", "droptail"),
        (
            "tc qdisc add dev eth0 root netem delay 20ms 5ms distribution normal loss 0.1%",
            "netem delay 20ms jitter 5ms distribution normal loss 0.1",
        ),
        (
            "qdisc netem 8002: dev eth0 root refcnt 2 limit 77 delay 99.9ms  7.5ms 25% loss gemodel p 1% r 10% 1-h 70% "
            "1-k 0.1% rate 7Mbit packetoverhead 20 cellsize 48 celloverhead 5",
            "netem limit 77 delay 99.9ms jitter 7.5ms delay_corr 25 loss_model gemodel ge_p 1 ge_r 10 ge_1_h 70 "
            "ge_1_k 0.1 rate 7Mbit/s packet_overhead 20 cell_size 48 cell_overhead 5",
        ),
    ],
)
def test_a_discipline_is_spelled_in_our_syntax(line: str, spelled: str) -> None:
    text, notes = of_line(line)
    assert sj.Scenario.build({**MINIMAL, "link": {"rate": "1 Gbit/s", "aqm": text}})
    assert text == spelled
    assert notes == []


MINIMAL: dict[str, Any] = {"duration": "1 s", "flows": [{"kind": "cbr", "rate": "1 Mbit/s"}]}


def test_changes_of_a_discipline_keep_its_other_words() -> None:
    text, _ = of_line(
        "tc qdisc add dev eth0 root fq_codel target 9ms\ntc qdisc change dev eth0 root fq_codel quantum 600"
    )
    assert text == "fq_codel@linux quantum 600B target 9ms"


def test_the_limit_is_moved_to_the_link() -> None:
    for line, limit in [
        ("tc qdisc add dev eth0 root pfifo limit 61", "61 packets"),
        ("tc qdisc add dev eth0 root bfifo limit 61kb", "62464 B"),
        ("tc qdisc add dev eth0 root fq_codel limit 20481", "20481 packets"),
        ("tc qdisc add dev eth0 root codel", "1000 packets"),
    ]:
        made = import_text(line, "a line", ImportOptions(rate="97 Mbit/s", download="eth0")).text
        assert f'limit = "{limit}"' in made, line


def test_unknown_words_are_reported_with_their_line() -> None:
    text, notes = of_line("\n# a comment\ntc qdisc add dev eth0 root fq_codel warp 9 target 7ms")
    assert text == "fq_codel@linux target 7ms"
    assert notes == ["line 3: fq_codel: warp 9"]


def test_netem_holds_another_discipline_and_counts_in_nanoseconds() -> None:
    lines = (
        "tc qdisc add dev eth0 root handle 1: netem slot distribution pareto 2000 300us packets 3\n"
        "tc qdisc add dev eth0 parent 1:1 fq_codel limit 500"
    )
    made = sj.Scenario.parse(
        import_text(lines, "lines", ImportOptions(rate="97 Mbit/s", download="eth0")).text
    ).document
    aqm = made["link"]["aqm"]
    assert (aqm["slot_delay"], aqm["slot_jitter"], aqm["slot_packets"]) == ("2 us", "300 us", 3)
    assert aqm["name"] == "netem { fq_codel@linux limit 500 }"


def test_netem_reports_ignored_options_and_refuses_by_line() -> None:
    _, notes = of_line("tc qdisc add dev eth0 root netem loss 1% seed 7 warp 3 4")
    assert notes == ["line 1: netem: seed 7: random numbers follow from the run's seed", "line 1: netem: warp 3 4"]
    with pytest.raises(InputError, match="line 1: netem: gap needs reorder"):
        of_line("tc qdisc add dev eth0 root netem delay 5ms gap 3")


def test_openwrt_with_cake() -> None:
    made = table("openwrt-cake.sqm")
    down, up = made["link"]["aqm"], made["reverse"]["aqm"]
    assert (down["name"], down["bandwidth"], down["isolation"]) == ("cake", "85 Mbit/s", "dual-dsthost")
    assert (down["wash"], down["ingress"], down["tins"]) == (True, True, "besteffort")
    assert (up["bandwidth"], up["isolation"], up["ack_filter"]) == ("10 Mbit/s", "dual-srchost", "filter")
    assert (up["overhead"], up["mpu"]) == (22, 64)


def test_openwrt_with_three_classes_on_a_slow_line_of_atm() -> None:
    made = table("openwrt-adsl.sqm")
    assert made["reverse"]["framing"] == "atm"
    assert made["reverse"]["overhead"] == "22 B"
    inside = made["reverse"]["aqm"]["name"]
    # sqm-scripts: a third, and a sixth up to the rate minus 16 kbit/s; the target is 33 cells: 1000·33·53·8/900 us.
    assert "class 11 parent 1 rate 128kbit/s ceil 300kbit/s" in inside
    assert "class 12 parent 1 rate 150kbit/s ceil 884kbit/s" in inside
    assert "target 15.546ms interval 110.546ms noecn" in inside
    assert "match dscp EF" in inside
    assert "quantum 1500B" in made["link"]["aqm"]["name"]


def test_a_docsis_modem() -> None:
    made = table("docsis.sh")
    aqm = made["reverse"]["aqm"]
    assert aqm["name"].replace("  ", " ").startswith("tbf {")
    assert "target 10ms" in aqm["name"]
    assert (aqm["rate"], aqm["burst"], aqm["mtu"]) == ("40 Mbit/s", "40960 B", "1600 B")
    assert (made["reverse"]["overhead"], made["reverse"]["mpu"]) == ("18 B", "64 B")


def test_a_libreqos_node_and_one_of_its_circuits() -> None:
    found = load(ROUTERS / "libreqos.txt", ImportOptions(download="eth1", class_id="1:3"))
    document = sj.Scenario.parse(found.text).document
    assert "class 3 parent 1 rate 25Mbit/s ceil 115Mbit/s" in document["link"]["aqm"]["name"]
    assert {flow["class"] for flow in document["flows"]} == {"1:3"}
    assert [flow["direction"] for flow in document["flows"] if flow["kind"] == "tcp"] == ["forward"]
    assert document["link"]["rate"] == "10 Gbit/s"
    assert found.notes == ("line 1: mq: 2 queues of the card are merged into one, htb 1:, with the rate of one queue",)
    with pytest.raises(InputError, match="1:9 is not a leaf; expected one of: 1:2, 1:3"):
        load(ROUTERS / "libreqos.txt", ImportOptions(class_id="1:9"))


def test_a_circuit_is_shaped_to_its_ceiling() -> None:
    made = load(ROUTERS / "libreqos.txt", ImportOptions(download="eth1", class_id="1:3"))
    result = sj.Scenario.parse(made.text).replace({"duration": "9 s", "warmup": "4 s"}).run(seed=5)
    # 115 Mbit/s of accounted frame bytes; goodput is 1448 of 1500 B.
    assert 0.93 * 115e6 < float(result.summary["goodput_bps"][0]) < 115e6 * 1448 / 1500


def test_classes_as_tc_shows_them() -> None:
    found = load(ROUTERS / "pppoe.txt")
    inside = sj.Scenario.parse(found.text).document["reverse"]["aqm"]
    assert inside["default"] == "11"
    assert "class 10 parent 1 rate 2Mbit/s ceil 6Mbit/s burst 1600B cburst 1599B" in inside["name"]
    assert found.notes == (
        "line 4: pfifo: its limit of 50 packets; here each class has that of the link, 10240 packets",
    )


def test_a_line_without_a_shaper_needs_its_rate(cli: Cli) -> None:
    ran = cli("import", "tc", ROUTERS / "debian.txt")
    assert ran.exit_code == 2
    assert ran.output.count("\n") == 1
    assert "line 5: enp1s0 does not shape" in ran.output
    assert "--rate" in ran.output
    ran = cli("import", "tc", ROUTERS / "debian.txt", "--rate", "97mbit", "-o", "made.toml", "--json")
    assert printed_json(ran)["not_understood"] == []
    assert sj.Scenario.load("made.toml").document["reverse"]["limit"] == "10240 packets"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing of tc\n", "no queue discipline in it"),
        ("qdisc hfsc 1: dev eth0 root default 1\n", "line 1: hfsc without classes"),
        ("qdisc htb 1: dev eth0 root default 1\n", "line 1: htb without classes"),
        ("tc qdisc add dev eth0 root fq_codel target soon", 'line 1: fq_codel target: "soon" is not a time of tc'),
        ("tc qdisc add dev eth0 root tbf rate fast burst 5k", '"fast" is not a rate of tc'),
        ("config queue\n option enabled '0'\n", "no section of it is enabled"),
        ("config queue\n option enabled '1'\n option script 'mine.qos'\n", "unknown script mine.qos"),
        (
            "config queue\n option enabled '1'\n option upload 'fast'\n",
            "line 3: upload: 'fast' is not a number of kbit/s",
        ),
    ],
)
def test_bad_input_is_a_line(cli: Cli, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "router").write_text(text)
    ran: Ran = cli("import", "tc", "router", "--rate", "97mbit")
    assert ran.exit_code == 2, ran.output
    assert message in ran.output
    assert ran.output.count("\n") == 1


FQ, CAKE = "fq_codel 0: dev {} root limit 10240p", "cake 1: dev {} root bandwidth {}Mbit"


@pytest.mark.parametrize(
    ("devices", "wanted", "down", "up"),
    [
        # An OpenWrt router: the LAN interface does not shape.
        ([FQ.format("eth0"), CAKE.format("eth1", 9), CAKE.format("ifb4eth1", 41)], {}, "ifb4eth1", "eth1"),
        # A middlebox that shapes on both sides.
        ([CAKE.format("wan", 9), CAKE.format("lan", 41)], {}, "lan", "wan"),
        ([CAKE.format("wan", 9), CAKE.format("lan", 41)], {"upload": "lan"}, "wan", "lan"),
        ([CAKE.format("wan", 9), CAKE.format("lan", 41)], {"download": "wan"}, "wan", "lan"),
        # A laptop: only one interface shapes.
        ([FQ.format("eth0"), CAKE.format("wlan0", 9)], {}, None, "wlan0"),
    ],
)
def test_devices_have_their_directions(
    devices: list[str], wanted: dict[str, str], down: str | None, up: str | None
) -> None:
    found = import_text("\n".join(f"qdisc {one}" for one in devices), "devices", ImportOptions(**wanted))
    to_home, from_home = found.understood
    assert to_home.startswith(f"to the home: {down or 'not specified'}")
    assert from_home.startswith(f"from the home: {up}")
    assert all("is assumed" in note or "is left out" in note for note in found.notes)


def test_variables_of_a_shell_are_reported() -> None:
    found = import_text(
        "tc qdisc add dev $WAN root cake bandwidth 9mbit\ntc qdisc add dev eth0 root cake bandwidth 9mbit",
        "a script",
        ImportOptions(),
    )
    assert len(found.notes) == 1
    assert found.notes[0].startswith("line 1: qdisc add dev $WAN")


def test_every_script_of_sqm_makes_a_scenario() -> None:
    text = (ROUTERS / "openwrt-adsl.sqm").read_text()
    for script in sqm.SCRIPTS:
        for qdisc in ("fq_codel", "codel", "pie", "sfq", "cake"):
            given = text.replace("simple.qos", script).replace("'fq_codel'", f"'{qdisc}'")
            made = import_text(given, f"{script} {qdisc}", ImportOptions())
            assert made.notes == () or qdisc in ("codel", "pie"), made.notes


def test_hostile_text_makes_one_line_or_a_scenario() -> None:
    import random

    draw = random.Random(90210)
    texts = [path.read_text() for path in sorted(ROUTERS.iterdir())]
    for _ in range(400):
        text = list(draw.choice(texts))
        for _ in range(draw.randrange(1, 12)):
            place = draw.randrange(len(text))
            text[place : place + draw.randrange(1, 9)] = draw.choice(
                ["", "\n", "0", "-", "x", '"', "'", "\\", ":", "9" * 30, "\x1b"]
            )
        try:
            sj.Scenario.parse(import_text("".join(text), "mutated", ImportOptions(rate="9 Mbit/s")).text)
        except InputError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("pasted", "spelled", "reported"),
    [
        (
            "fq_codel 8001: root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms ecn",
            "fq_codel@linux",
            "the limit of 10240 packets belongs to the link",
        ),
        ("qdisc codel 1: dev eth0 parent 1:1 limit 1000p target 4.99ms interval 100ms", "codel target 4.99 ms", "1000"),
        ("pie 8002: limit 1000p target 15ms tupdate 16ms alpha 2 beta 20", "pie@linux", "1000 packets"),
        ("codel", "codel", None),
    ],
)
def test_a_line_of_tc_is_a_queue_manager(cli: Cli, pasted: str, spelled: str, reported: str | None) -> None:
    ran = cli("compare", "--aqm", f"{pasted},droptail", "--duration", "1 s", "--flows", "1")
    assert ran.exit_code == 0, ran.output
    assert spelled.split(" ")[0] in ran.output
    assert (reported is None) == ("Warning:" not in ran.output)
    assert reported is None or reported in ran.output


def test_a_line_of_tc_that_is_not_there_is_refused(cli: Cli) -> None:
    ran = cli("compare", "--aqm", "mqprioo 1: root refcnt 2", "--duration", "1 s")
    assert ran.exit_code == 2
    assert "mqprioo is not supported" in ran.output
