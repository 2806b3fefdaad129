"""Replay of a capture: sizes, times and code points of its packets, or the bytes of its connections."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import sojourn as sj
from captures import SYN, Segment, ethernet, pcap
from conftest import Cli, printed_json
from sojourn import InputError
from sojourn.io.pcap.capture import load_capture
from sojourn.io.pcap.export import export

RECORDED = {"probes.packets": True, "probes.headers": True}
TRAFFIC = """
duration = "3 s"

[link]
rate = "7.3 Mbit/s"
aqm = "codel ecn"

[reverse]
rate = "1.1 Mbit/s"

[[flows]]
kind = "tcp"
count = 2
ecn = true
rtt = "23 ms"

[[flows]]
kind = "tcp"
direction = "reverse"
size = "34567 B"
rtt = "61 ms"

[[flows]]
kind = "poisson"
rate = "300 kbit/s"
size = "333 B"
"""
REPLAY = """
duration = "4 s"

[link]
rate = "10 Gbit/s"
delay = "3 ms"

[[flows]]
kind = "pcap"
file = "own.pcapng"
source = "not 10.0.0.2, 10.0.0.4, 10.0.0.5"

[[flows]]
kind = "pcap"
file = "own.pcapng"
source = "10.0.0.2, 10.0.0.4, 10.0.0.5"
direction = "reverse"
"""


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captured")
    export(sj.Scenario.parse(TRAFFIC, RECORDED).run(), folder / "own.pcapng", side="in", link="both")
    return folder


def shown(packets: pl.DataFrame) -> pl.DataFrame:
    """Time since the first packet, size and ECN field of each packet, in order."""
    since = pl.col("time_ns") - pl.col("time_ns").min()
    return packets.select(since, "ip_bytes", "ecn").sort("time_ns", "ip_bytes", "ecn")


def test_a_replay_has_the_packets_of_the_capture_to_the_nanosecond(captured: Path, tmp_path: Path) -> None:
    own = load_capture(captured / "own.pcapng").packets
    hosts = own["source"].unique().sort().to_list()
    back = [host for host in hosts if own.filter(pl.col("source") == host)["payload"].mean() < 200]
    text = REPLAY.replace("10.0.0.2, 10.0.0.4, 10.0.0.5", ", ".join(back))
    result = sj.Scenario.parse(text, RECORDED, base=captured).run()
    export(result, tmp_path / "again.pcapng", side="in", link="forward")
    export(result, tmp_path / "back.pcapng", side="in", link="reverse")
    again = pl.concat([load_capture(tmp_path / name).packets for name in ("again.pcapng", "back.pcapng")])
    assert shown(again).equals(shown(own))
    assert [group["capture"]["packets"] for group in result.totals["groups"]] == [
        own.filter(~pl.col("source").is_in(back)).height,
        own.filter(pl.col("source").is_in(back)).height,
    ]
    flows = own.select("source", "source_port", "destination", "destination_port", "protocol").unique()
    assert len(result.totals["flows"]) == flows.height, "queues can tell them apart"


def test_transfers_have_the_bytes_and_begin_when_the_connections_did(tmp_path: Path) -> None:
    ms = 10**6
    segments = [
        Segment(0, seq=99, flags=SYN),
        Segment(30 * ms, seq=100, payload=1448),
        Segment(31 * ms, seq=100, payload=1448, identification=9),  # retransmission
        Segment(32 * ms, seq=1548, payload=777),
        Segment(40 * ms, seq=5, payload=400, back=True),
        Segment(800 * ms, seq=7, flags=SYN, identification=3),
        Segment(900 * ms, seq=8, payload=50_001, identification=4),
    ]
    (tmp_path / "own.pcap").write_bytes(pcap([(s.time_ns, s.ip4()) for s in segments], nano=True, link=101))
    flows = {
        "kind": "pcap",
        "file": "own.pcap",
        "source": "10.0.0.1",
        "send": "transfers",
        "rtt": "11 ms",
        "cc": "reno",
    }
    document = {"duration": "3 s", "link": {"rate": "20 Mbit/s"}, "flows": [flows], "probes": {"transfers": True}}
    result = sj.Scenario.build(document, base=tmp_path).run()
    found = result.transfers.select("start_s", "bytes").sort("start_s").rows()
    assert found == [(0.0, 2225), (0.8, 50_001)]
    assert result.totals["groups"][0]["capture"]["transfers"] == 2


def test_super_packets_are_cut_or_stay_together(tmp_path: Path) -> None:
    segments = [Segment(0, seq=1, payload=14_600 + 7), Segment(10**6, seq=14_608, payload=99)]
    (tmp_path / "own.pcap").write_bytes(pcap([(s.time_ns, ethernet(s.ip4())) for s in segments], nano=True))
    flow = {"kind": "pcap", "file": "own.pcap"}
    document = {"duration": "1 s", "link": {"rate": "20 Mbit/s"}, "flows": [flow], "probes": {"packets": True}}
    cut = sj.Scenario.build(document, base=tmp_path).run()
    assert cut.packets["bytes"].to_list() == [*[1500] * 10, 47, 139]
    assert cut.totals["groups"][0]["capture"]["pieces"] == 11
    whole = sj.Scenario.build(document | {"flows": [flow | {"gso": True}]}, base=tmp_path).run()
    assert whole.packets.height == 2
    for result in (cut, whole):
        group = result.totals["groups"][0]
        assert (group["bytes"], group["sent"], group["loss_rate"]) == (14_600 + 7 + 99, 12, 0.0)
        assert group["capture"]["super_packets"] == 1


def test_impossible_packets_are_refused_by_name_or_repaired(tmp_path: Path) -> None:
    s = 10**9
    steps = [Segment(5 * s, seq=1, payload=9), Segment(6 * s, seq=10, payload=9), Segment(s, seq=19, payload=9)]
    twice = [Segment(0, seq=1, payload=9), Segment(1000, seq=1, payload=9)]
    for name, segments in (("steps", steps), ("twice", twice)):
        (tmp_path / f"{name}.pcap").write_bytes(pcap([(one.time_ns, one.ip4()) for one in segments], link=101))
    document = {"duration": "4 s", "link": {"rate": "1 Mbit/s"}}

    def run(**keys: str) -> dict[str, int]:
        flows = [{"kind": "pcap"} | keys]
        found = sj.Scenario.build(document | {"flows": flows}, base=tmp_path).run().totals["groups"][0]["capture"]
        assert isinstance(found, dict)
        return found

    with pytest.raises(InputError, match=r'between its packets 2 and 3 the clock steps back by 5.*clock = "join"'):
        run(file="steps.pcap")
    assert run(file="steps.pcap", clock="join")["clock_steps"] == 1
    with pytest.raises(InputError, match=r'1 of its 2 packets appear twice.*duplicates = "drop"'):
        run(file="twice.pcap")
    assert (
        run(file="twice.pcap", duplicates="drop")["packets"],
        run(file="twice.pcap", duplicates="keep")["packets"],
    ) == (1, 2)


@pytest.mark.parametrize(
    ("keys", "expected_text"),
    [
        ({"file": "none.pcap"}, "none.pcap"),
        ({"source": "home"}, "is neither an address nor a network"),
        ({"source": "192.168.0.0/16"}, "its hosts send 10.0.0.1"),
        ({"cc": "reno"}, 'send = "transfers"'),
        ({"count": 700}, "replayed once"),
        ({"send": "transfers", "protocol": "udp"}, "no TCP connection"),
    ],
)
def test_a_replay_that_cannot_be_is_refused_in_one_line(
    captured: Path, keys: dict[str, object], expected_text: str
) -> None:
    flow = {"kind": "pcap", "file": "own.pcapng"} | keys
    with pytest.raises(InputError) as refused:
        sj.Scenario.build({"duration": "1 s", "link": {"rate": "1 Mbit/s"}, "flows": [flow]}, base=captured)
    assert expected_text in str(refused.value)
    assert str(refused.value).startswith("flows[0].")
    assert len(str(refused.value).splitlines()) == 1


def test_the_canonical_form_and_the_hash_know_the_capture(captured: Path, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "own.pcapng").write_bytes((captured / "own.pcapng").read_bytes())
    flow = {"kind": "pcap", "file": "own.pcapng"}
    scenario = sj.Scenario.build({"duration": "1 s", "link": {"rate": "1 Mbit/s"}, "flows": [flow]}, base=tmp_path)
    assert sj.Scenario.parse(scenario.canonical) == scenario
    assert scenario.traces() == [(tmp_path / "own.pcapng").resolve()]
    Path("s.json").write_text(scenario.canonical)
    first = printed_json(cli("run", "s.json", "--json"))["folder"]
    data = (tmp_path / "own.pcapng").read_bytes()
    (tmp_path / "own.pcapng").write_bytes(data[: len(data) // 2])
    assert printed_json(cli("run", "s.json", "--json"))["folder"] != first, "another capture, another run"


def test_import_pcap_finds_the_home_and_rehearse_judges_it(captured: Path, cli: Cli, tmp_path: Path) -> None:
    own = captured / "own.pcapng"
    made = cli("import", "pcap", own, "-o", "own.toml", "--send", "transfers", "--rate", "6 Mbit/s")
    assert made.exit_code == 0, made.output
    assert "the home is 10.0.0." in made.output
    found = printed_json(cli("run", "own.toml", "--json"))["scenario"]["flows"]
    assert [(flow["direction"], flow["send"]) for flow in found][:2] == [
        ("forward", "transfers"),
        ("forward", "packets"),
    ]
    added = cli("import", "pcap", own, "--into", "own.toml", "--home", "10.0.0.0/8", "-o", "both.toml")
    assert added.exit_code == 0, added.output
    document = printed_json(cli("import", "pcap", own, "--json"))
    assert document["scenario"].startswith("# Replays own.pcapng")
    judged = cli("rehearse", "own.toml", "--change", "codel", "--seeds", 2, "--set", "duration=2 s", "-o", "out")
    assert judged.exit_code == 0, judged.output
    assert "Capture: transfers, median" in judged.output
    assert cli("import", "pcap", own, "--home", "here").exit_code == 2


@pytest.mark.parametrize("send", ["packets", "transfers"])
def test_a_capture_that_ends_before_the_warm_up_is_judged_or_the_sentence_says_why_not(
    captured: Path, cli: Cli, send: str
) -> None:
    configuration = Path(__file__).parent / "routers" / "openwrt-cake.sqm"
    assert cli("import", "tc", configuration, "-o", "router.toml").exit_code == 0
    own = captured / "own.pcapng"
    assert cli("import", "pcap", own, "--send", send, "--into", "router.toml", "-o", "own.toml").exit_code == 0
    common = ("rehearse", "own.toml", "--change", "fq_codel", "--seeds", 1, "--set", "duration=8 s", "-o", "out")
    late = printed_json(cli(*common, "--set", "warmup=7 s", "--json"))["sentences"]
    assert late[-1].startswith("Capture: none of it between the warm-up (7 s) and the end (8 s); --set warmup=0s")
    early = printed_json(cli(*common, "--set", "warmup=0 s", "--json"))["sentences"]
    assert early[-1].startswith("Capture: ")
    assert "delay" in early[-1]


def test_private_addresses_are_the_home(tmp_path: Path, cli: Cli) -> None:
    segments = [Segment(0, seq=1, payload=100), Segment(1000, seq=1, payload=1000, back=True)]
    frames = [(s.time_ns, s.ip4().replace(bytes([10, 0, 0, 2]), bytes([8, 8, 8, 8]))) for s in segments]
    (tmp_path / "own.pcap").write_bytes(pcap(frames, nano=True, link=101))
    found = json.loads(cli("import", "pcap", "own.pcap", "--json").output)
    assert found["understood"][0].startswith("the home is 10.0.0.0/24: these addresses are private")
    assert 'source = "not 10.0.0.0/24"' in found["scenario"]


@pytest.mark.parametrize(
    ("router", "options", "change"),
    [
        ("openwrt-cake.sqm", (), "rtt 30ms"),
        ("openwrt-adsl.sqm", (), "target 40ms interval 200ms"),
        ("debian.txt", ("--rate", "93 Mbit/s"), "target 2ms"),
        ("docsis.sh", (), "target 20ms"),
        ("libreqos.txt", ("--class", "1:3"), "rtt 50ms"),
        ("pppoe.txt", ("--rate", "93 Mbit/s"), "link.rate=50mbit"),
    ],
)
def test_from_a_routers_lines_and_a_capture_to_sentences(
    captured: Path, cli: Cli, tmp_path: Path, router: str, options: tuple[str, ...], change: str
) -> None:
    configuration = Path(__file__).parent / "routers" / router
    short = ("--set", "duration=3 s", "--set", "warmup=0 s", "--seeds", 2, "-o", "out")
    for words in (
        ("import", "tc", configuration, *options, "-o", "router.toml"),
        ("import", "pcap", captured / "own.pcapng", "--send", "transfers", "--into", "router.toml", "-o", "own.toml"),
        ("rehearse", "own.toml", "--change", change, *short),
    ):
        done = cli(*words)
        assert done.exit_code == 0, done.output
    sentences = [line for line in done.output.splitlines() if line.startswith(("Calls", "Pages", "Bulk", "Capture"))]
    assert any(line.startswith("Capture: transfers, median") for line in sentences), done.output
    assert (tmp_path / "out" / "rehearse-own.png").exists()
