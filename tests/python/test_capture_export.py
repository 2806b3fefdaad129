"""Captures of results: they contain the recorded packets, and tshark, if installed, agrees."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import polars as pl
import pytest

import sojourn as sj
from captures import frames, lengths
from conftest import SHORT, Cli, entries, printed_json
from sojourn.io.pcap.capture import load_capture
from sojourn.io.pcap.export import export
from sojourn.io.pcap.goodput import goodput
from sojourn.io.pcap.rtt import rtt

HEADERS = {"probes.packets": True, "probes.headers": True}
MIXED = """
duration = "3 s"

[link]
rate = "5 Mbit/s"
aqm = "codel ecn true interval 20ms"
limit = "20 packets"

[reverse]
rate = "5 Mbit/s"
limit = "30 packets"

[[flows]]
kind = "tcp"
stack = "linux-2.6.29"
cc = "reno"
count = 2
rtt = "20 ms"

[[flows]]
kind = "tcp"
stack = "linux-2.6.29"
cc = "reno"
rtt = "30 ms"
ecn = true

[[flows]]
kind = "tcp"
stack = "linux-2.6.29"
cc = "reno"
direction = "reverse"
rtt = "20 ms"

[[flows]]
kind = "cbr"
rate = "200 kbit/s"
size = "301 B"

[probes]
packets = true
headers = true
"""


@pytest.fixture(scope="module")
def run() -> sj.Result:
    return sj.Scenario.parse(MIXED).run()


@pytest.fixture(scope="module")
def taps(run: sj.Result, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("taps")
    for side in ("in", "out"):
        export(run, folder / side, side=side, link="both", payload=True)
    return {side: folder / side for side in ("in", "out")}


def summed(data: bytes) -> int:
    """One's complement sum of 16-bit words (RFC 1071); 0xFFFF if the checksum is correct."""
    total = sum(struct.unpack(f">{len(data) // 2 + len(data) % 2}H", data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def test_every_checksum_is_right(taps: dict[str, Path]) -> None:
    protocols = set()
    for packet, size in frames(taps["in"]):
        assert len(packet) == size == struct.unpack(">H", packet[2:4])[0]
        assert summed(packet[:20]) == 0xFFFF
        pseudo = packet[12:20] + struct.pack(">HH", packet[9], len(packet) - 20)
        assert summed(pseudo + packet[20:]) == 0xFFFF
        protocols.add(packet[9])
    assert protocols == {6, 17}


@pytest.mark.parametrize("side", ["in", "out"])
@pytest.mark.parametrize("link", ["forward", "reverse"])
def test_a_capture_equals_the_recorded_packets(run: sj.Result, tmp_path: Path, link: str, side: str) -> None:
    path = tmp_path / "x.pcapng"
    count = export(run, path, side=side, link=link)
    found = load_capture(path).packets
    number = ["forward", "reverse"].index(link)
    packets = run.table("packets").filter(pl.col("link") == number)
    if side == "in":
        came = packets.with_columns(time_ns=pl.col("time_ns") - pl.col("sojourn_ns"))
        waiting = run.table("waiting").filter(pl.col("link") == number)
        expected = pl.concat([came, waiting], how="diagonal").sort("arrival")
    else:
        expected = packets.filter(pl.col("fate") < 2).sort("time_ns", "arrival")
    expected = expected.join(run.table("headers"), on=["link", "arrival"], how="left", maintain_order="left")
    assert count == found.height == expected.height
    assert found["time_ns"].to_list() == expected["time_ns"].to_list()
    assert found["ip_bytes"].to_list() == expected["ip_bytes"].to_list() == expected["bytes"].to_list()
    tcp = pl.col("protocol") == "tcp"
    local, reference = found.filter(tcp), expected.filter(pl.col("flags") > 0)
    for name in ("seq", "ack", "payload"):
        assert local[name].to_list() == reference[name].to_list(), name
    assert found["ecn"].to_list() == [
        3 if side == "out" and fate == 1 else ecn for fate, ecn in expected.select("fate", "ecn").iter_rows()
    ]
    if (link, side) == ("forward", "out"):
        assert (found["ecn"] == 3).sum() > 5
        assert found.filter(~tcp)["payload"].unique().to_list() == [301 - 28]


def test_flows_and_ends_are_distinguishable(run: sj.Result, taps: dict[str, Path]) -> None:
    found = load_capture(taps["in"]).packets
    forward = found.filter(pl.col("destination_port") == 5001).select("source", "source_port", "destination").unique()
    assert forward.height == len(run.totals["flows"]) == 5
    assert sorted(forward["source_port"]) == [10_000, 10_001, 10_002, 10_003, 10_004]


def test_spp_gives_the_sojourn_times(run: sj.Result, taps: dict[str, Path]) -> None:
    """Across the bottleneck, the RTT is the sum of the sojourn times in both directions."""
    samples = rtt(load_capture(taps["in"]).packets, load_capture(taps["out"]).packets)
    sent = run.table("packets").filter(pl.col("fate") < 2)
    sent = sent.with_columns(came=pl.col("time_ns") - pl.col("sojourn_ns"))
    flow_of = {
        f"10.0.0.{a}:{p} > 10.0.0.{a + 1}:{q}": n
        for n, (a, p, q) in enumerate([(1, 10_000, 5001), (1, 10_001, 5001), (3, 10_002, 5001)])
    }
    checked = 0
    for time_ns, name, found in samples.filter(pl.col("time_ns") < 10**9).iter_rows():
        flow = flow_of.get(name.removeprefix("tcp "))
        if flow is None:  # the reverse flow's
            continue
        own = sent.filter(pl.col("flow") == flow)
        sums = []  # one entry, unless several packets were sent at once
        there = own.filter((pl.col("link") == 0) & (pl.col("came") == time_ns))
        for left, sojourn in there.select("time_ns", "sojourn_ns").iter_rows():
            back = own.filter((pl.col("link") == 1) & (pl.col("came") >= left)).sort("came", "arrival")
            sums.append(sojourn + back["sojourn_ns"][0])
        assert found in sums
        checked += len(sums) == 1
    assert checked > 50


def test_goodput_behind_the_queue_is_the_result_s(run: sj.Result, taps: dict[str, Path]) -> None:
    made = goodput(load_capture(taps["out"]).packets, 10**10)
    for flow in run.totals["flows"][:3]:
        [bytes_seen] = made.filter(pl.col("flow").str.contains(f":{10_000 + flow['id']} > ", literal=True))["bytes"]
        # A capture has the start of a transmission, so one packet may end after the run.
        assert flow["bytes"] <= bytes_seen <= flow["bytes"] + 1448
    assert any(flow["delivered_bytes"] < flow["bytes"] for flow in run.totals["flows"]), "something waits for a hole"


def test_captures_without_headers_are_refused(cli: Cli, tmp_path: Path, scenario_file: Path) -> None:
    folder = printed_json(cli("run", scenario_file, "--json", "--set", "probes.packets=true"))["folder"]
    before = entries(tmp_path)
    refused = cli("pcap", "export", folder, "--side", "in", "-o", "x.pcapng")
    assert refused.exit_code == 2
    assert "run it again with --set probes.packets=true --set probes.headers=true" in refused.output
    folder = printed_json(cli("run", scenario_file, "--json", *sets()))["folder"]
    refused = cli("pcap", "export", folder, "--side", "in", "--link", "forwards", "-o", "x.pcapng")
    assert 'link "forwards" is unknown; did you mean "forward"?' in refused.output
    assert entries(tmp_path) == before
    assert cli("run", scenario_file, "--set", "probes.headers=true").exit_code == 2


def sets() -> list[str]:
    return [word for key in HEADERS for word in ("--set", f"{key}=true")]


@pytest.mark.parametrize("stack", ["linux-2.6.29", "linux-3.8", "linux-3.13", "linux-6.1", "ns2"])
def test_a_packet_has_its_recorded_size_under_every_stack(tmp_path: Path, stack: str) -> None:
    sets = {"flows.0.stack": stack, "link.limit": "10 packets", "duration": "2 s"}
    result = sj.Scenario.parse(SHORT, HEADERS | sets).run()
    for link in ("forward", "reverse"):
        export(result, tmp_path / "x.pcapng", side="in", link=link)
        sizes = result.table("headers").filter(pl.col("link") == ["forward", "reverse"].index(link))["ip_bytes"]
        assert lengths(tmp_path / "x.pcapng") == sizes.to_list()


def test_a_row_of_bottlenecks(tmp_path: Path) -> None:
    text = SHORT + 'route = ["link", "second"]\n[[links]]\nname = "second"\nrate = "8 Mbit/s"\n'
    result = sj.Scenario.parse(text, HEADERS | {"warmup": "0 s"}).run()
    count = export(result, tmp_path / "x.pcapng", side="out", link="second")
    assert count == result.totals["hops"][0]["forward"]["packets"] > 1000


def test_connections_that_come_and_go(tmp_path: Path) -> None:
    web = 'kind = "web"\nstack = "linux-2.6.29"\ncc = "reno"\ninterval = "100 ms"\nsize = "20 kB"\n'
    result = sj.Scenario.parse(SHORT.split("kind")[0] + web, HEADERS | {"duration": "2 s", "warmup": "0 s"}).run()
    export(result, tmp_path / "x.pcapng", side="out", link="forward")
    made = goodput(load_capture(tmp_path / "x.pcapng").packets, 10**10)
    pages = made.filter((pl.col("flow") != "all") & (pl.col("bytes") > 0))["bytes"].to_list()
    group = result.totals["groups"][0]
    assert pages.count(20_000) >= group["transfers"] > 5


tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


def fields(path: Path, *names: str, where: str = "") -> list[list[str]]:
    checks = [word for name in ("ip", "tcp", "udp") for word in ("-o", f"{name}.check_checksum:TRUE")]
    wanted = [word for name in names for word in ("-e", name)]
    command = ["tshark", "-r", str(path), *checks, *(["-Y", where] if where else []), "-T", "fields", *wanted]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return [line.split("\t") for line in ran.stdout.splitlines()]


@tshark
def test_tshark_reads_the_same(run: sj.Result, tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    export(run, path, side="out", payload=True)
    expected = run.table("packets").filter((pl.col("link") == 0) & (pl.col("fate") < 2)).sort("time_ns", "arrival")
    shown = fields(path, "frame.time_epoch", "frame.comment", "frame.interface_name", "ip.len")
    assert [row[0] for row in shown] == [f"{ns // 10**9}.{ns % 10**9:09d}" for ns in expected["time_ns"]]
    comments = [
        f"sojourn {ns / 1e6:.6f} ms{', marked' * fate}"
        for ns, fate in expected.select("sojourn_ns", "fate").iter_rows()
    ]
    assert [row[1] for row in shown] == comments
    assert {row[2] for row in shown} == {"forward out"}
    assert [int(row[3]) for row in shown] == expected["bytes"].to_list()
    bad = "_ws.malformed || ip.checksum.status != 1 || tcp.checksum.status != 1 || udp.checksum.status != 1"
    assert fields(path, "frame.number", where=bad) == []


READERS = {
    "tcpdump": ["tcpdump", "-n", "--nano", "-tt", "-r"],
    "tshark": ["tshark", "-r"],
    "capinfos": ["capinfos", "-Mc"],
}


@pytest.mark.parametrize("reader", READERS)
def test_other_programs_read_a_tap_of_both_directions(taps: dict[str, Path], reader: str) -> None:
    if shutil.which(reader) is None:
        pytest.skip(f"{reader} is not installed")
    command = [*READERS[reader], str(taps["in"])]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    count = load_capture(taps["in"]).packets.height
    shown = ran.stdout.splitlines()
    assert (int(shown[-1].split()[-1]) if reader == "capinfos" else len(shown)) == count


@tshark
def test_a_tap_records_the_direction_of_a_packet(taps: dict[str, Path]) -> None:
    for side, out in (("in", "10.0.0.1"), ("out", "10.0.0.2")):
        rows = fields(taps[side], "frame.packet_flags_direction", "ip.src", where="ip.addr == 10.0.0.1")
        assert {(way, source == out) for way, source in rows} == {("0x00000001", False), ("0x00000002", True)}


@tshark
def test_tshark_counts_the_same_payload(taps: dict[str, Path]) -> None:
    """New bytes, counted from tshark's output for each segment."""
    seen: dict[str, set[int]] = {}
    steps: dict[int, int] = {}
    rows = fields(
        taps["out"], "frame.time_epoch", "tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.len", where="tcp.len > 0"
    )
    for time, source, target, seq, size in rows:
        own = seen.setdefault(f"{source} {target}", set())
        new = set(range(int(seq), int(seq) + int(size))) - own
        own |= new
        step = int(float(time))
        steps[step] = steps.get(step, 0) + len(new)
    made = goodput(load_capture(taps["out"]).packets, 10**9).filter(~pl.col("flow").str.starts_with("udp"))
    local = made.filter(pl.col("flow") != "all").group_by("time_s", maintain_order=True).agg(pl.col("bytes").sum())
    assert {int(time): count for time, count in local.iter_rows() if count} == steps


@tshark
def test_tshark_sees_the_options(run: sj.Result, tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    export(run, path, side="in", link="reverse")
    header = run.table("headers").filter((pl.col("link") == 1) & (pl.col("flags") > 0)).sort("arrival")
    rows = fields(path, "tcp.options.timestamp.tsval", "tcp.options.sack_le", "tcp.options.sack_re", where="tcp")
    assert [int(row[0]) for row in rows] == header["ts_val"].to_list()
    first = [(int(le.split(",")[0] or 0), int(re.split(",")[0] or 0)) for _, le, re in rows]
    assert first == list(header.select("sack1_from", "sack1_to").iter_rows())
    assert sum(end > 0 for _, end in first) > 10
