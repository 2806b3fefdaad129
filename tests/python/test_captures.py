"""Captures: all formats are read, measurements have the known values, and damaged files give errors or warnings."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captures import SYN, Segment, cooked, ethernet, pcap, pcapng
from conftest import Cli, printed_json
from sojourn import InputError
from sojourn.io.pcap.capture import load_capture
from sojourn.io.pcap.goodput import goodput
from sojourn.io.pcap.rtt import rtt, summarise

TODAY_NS = 1_700_000_000_123_456_789
"""Needs more precision than seconds in a float."""
TWO = [Segment(TODAY_NS, seq=7, payload=3), Segment(TODAY_NS + 1000, seq=1, ack=10, back=True, identification=5)]
IN_ETHERNET = [(s.time_ns, ethernet(s.ip4())) for s in TWO]

DIALECTS = {
    "pcap-us": (pcap(IN_ETHERNET), 1000),
    "pcap-us-big-endian": (pcap(IN_ETHERNET, order=">"), 1000),
    "pcap-ns": (pcap(IN_ETHERNET, nano=True), 1),
    "pcap-ns-big-endian": (pcap(IN_ETHERNET, order=">", nano=True), 1),
    "pcap-headers-only": (pcap(IN_ETHERNET, snap=54), 1000),
    "pcapng-ns": (pcapng(IN_ETHERNET), 1),
    "pcapng-us-by-default": (pcapng(IN_ETHERNET, resolution=None), 1000),
    "pcapng-big-endian": (pcapng(IN_ETHERNET, order=">"), 1),
    "pcapng-power-of-two": (pcapng(IN_ETHERNET, resolution=0x80 | 32), 1),
    "pcapng-offset": (pcapng(IN_ETHERNET, offset_s=1_600_000_000), 1),
    "two-sections": (pcapng(IN_ETHERNET[:1], order=">") + pcapng(IN_ETHERNET[1:]), 1),
    "vlan": (pcap([(s.time_ns, ethernet(s.ip4(), vlan=True)) for s in TWO], nano=True), 1),
    "cooked": (pcap([(s.time_ns, cooked(s.ip4())) for s in TWO], nano=True, link=113), 1),
    "raw": (pcap([(s.time_ns, s.ip4()) for s in TWO], nano=True, link=101), 1),
    "ipv6": (pcap([(s.time_ns, ethernet(s.ip6())) for s in TWO], nano=True), 1),
}


def file(folder: Path, data: bytes) -> Path:
    path = folder / "made.pcap"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect(tmp_path: Path, name: str) -> None:
    data, unit_ns = DIALECTS[name]
    found = load_capture(file(tmp_path, data))
    assert found.warning is None
    first, second = found.packets.to_dicts()
    assert first["time_ns"] == TODAY_NS // unit_ns * unit_ns
    assert second["time_ns"] - first["time_ns"] == 1000
    ends = ("::a00:1", "::a00:2") if name == "ipv6" else ("10.0.0.1", "10.0.0.2")
    assert (first["source"], first["source_port"], first["destination"], first["destination_port"]) == (
        ends[0],
        4000,
        ends[1],
        80,
    )
    assert (first["protocol"], first["seq"], first["payload"]) == ("tcp", 7, 3)
    assert (second["source"], second["ack"], second["payload"]) == (ends[1], 10, 0)


def test_other_protocols_are_left_out_and_counted(tmp_path: Path) -> None:
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    later_fragment = bytearray(ethernet(TWO[0].ip4()))
    later_fragment[14 + 7] = 9
    frames = [(0, arp), (1, bytes(later_fragment)), (2, b"\x00"), *IN_ETHERNET]
    found = load_capture(file(tmp_path, pcap(frames)))
    assert found.packets.height == 2
    assert "3 packets are left out: 1 ARP, 1 fragments without their first, 1 truncated" in str(found.warning)


@pytest.mark.parametrize("make", [pcap, pcapng])
def test_a_truncated_capture_gives_its_complete_packets(tmp_path: Path, make: object) -> None:
    whole = make(IN_ETHERNET)  # type: ignore[operator]
    head = len(make([]))  # type: ignore[operator]
    one = len(make(IN_ETHERNET[:1]))  # type: ignore[operator]
    for size in range(len(whole)):
        path = file(tmp_path, whole[:size])
        if size < one:
            with pytest.raises(InputError) as refused:
                load_capture(path)
            assert len(str(refused.value).splitlines()) == 1
            continue
        found = load_capture(path)
        assert found.packets.height == 1
        assert (found.warning is None) == (size == one), size
    assert head < one


def test_the_warning_names_place_and_count(cli: Cli, tmp_path: Path) -> None:
    file(tmp_path, pcap(IN_ETHERNET)[:-5])
    result = cli("pcap", "goodput", "made.pcap")
    assert result.exit_code == 0
    assert "Warning: made.pcap: truncated at byte 100; the 1 packets before it are used\n" in result.output


DAMAGED = {
    "empty": (b"", "not a capture"),
    "text": (b"hello, this is text", "not a capture"),
    "header-only": (pcap([]), "no TCP or UDP packet"),
    "no-tcp": (pcap([(0, bytes(60))]), "no TCP or UDP packet"),
    "huge-record": (pcap([])[:24] + b"\xff" * 64, "byte 24: not a packet record; the file is damaged"),
    "sizes-differ": (pcapng(IN_ETHERNET)[:-4] + b"\0\0\0\1", "the block's two sizes differ"),
    "no-interface": (pcapng([])[:28] + pcapng(IN_ETHERNET)[84:], "too short; the file is damaged"),
    "odd-block": (pcapng([]) + b"\6\0\0\0\x0d\0\0\0" + bytes(40), "invalid block size of 13 bytes"),
    "no-byte-order": (pcapng([])[:8] + bytes(20), "section without a byte order"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_captures_are_refused_in_one_line(cli: Cli, tmp_path: Path, name: str) -> None:
    data, expected_text = DAMAGED[name]
    file(tmp_path, data)
    result = cli("pcap", "goodput", "made.pcap")
    assert result.exit_code == 2, result.output
    assert result.output.startswith("Error: made.pcap: ")
    assert expected_text in result.output
    assert len(result.output.splitlines()) == 1


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=40), st.integers(0, 400), st.sampled_from(sorted(DIALECTS)))
def test_no_damage_is_a_traceback(tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int, name: str) -> None:
    data = DIALECTS[name][0]
    path = tmp_path_factory.getbasetemp() / "noise.pcap"
    path.write_bytes(data[:at] + noise + data[at + len(noise) :])
    try:
        found = load_capture(path)
    except InputError:
        return
    assert found.packets.height > 0


def table(segments: list[Segment], folder: Path) -> pl.DataFrame:
    path = folder / "made.pcap"
    path.write_bytes(pcap([(s.time_ns, s.ip4()) for s in segments], nano=True, link=101))
    return load_capture(path).packets


def flow(made: pl.DataFrame, name: str) -> list[int]:
    return made.filter(pl.col("flow") == name)["bytes"].to_list()


FORWARD = "tcp 10.0.0.1:4000 > 10.0.0.2:80"
S = 10**9


def test_goodput_counts_each_byte_once(tmp_path: Path) -> None:
    near_the_end = 2**32 - 1000
    segments = [
        Segment(0, seq=near_the_end - 1, flags=SYN),
        Segment(0, seq=near_the_end - 1, flags=SYN),  # retransmission
        Segment(1 * S, seq=near_the_end, payload=600),
        Segment(2 * S, seq=near_the_end + 1200, payload=600),  # after the wrap; 600 bytes are missing
        Segment(3 * S, seq=near_the_end, payload=600),  # duplicate
        Segment(6 * S, seq=near_the_end + 500, payload=400),  # 100 duplicate bytes, 300 of the missing ones
        Segment(11 * S, seq=near_the_end + 600, payload=700),  # the other 300, then duplicates
        Segment(12 * S, seq=near_the_end + 1799, payload=1),  # keep-alive
        Segment(13 * S, ack=7, back=True, payload=50),
    ]
    made = goodput(table(segments, tmp_path))
    assert flow(made, FORWARD) == [1200, 300, 300]
    assert flow(made, "tcp 10.0.0.2:80 > 10.0.0.1:4000") == [0, 0, 50]
    assert flow(made, "all") == [1200, 300, 350]
    assert made["time_s"].unique().sort().to_list() == [0.0, 5.0, 10.0]
    assert made.filter(pl.col("flow") == FORWARD)["goodput_bps"][0] == 1200 * 8 / 5


def test_ports_that_are_used_again_are_another_connection(tmp_path: Path) -> None:
    segments = [
        Segment(0, seq=10, flags=SYN),
        Segment(1, seq=11, payload=100),
        Segment(2, seq=5, flags=SYN),
        Segment(3, seq=6, payload=100),
    ]
    assert flow(goodput(table(segments, tmp_path)), FORWARD) == [200]


MS = 10**6


def points(offset_ns: int) -> tuple[list[Segment], list[Segment]]:
    """Three data segments and two ACKs at A and at B; B's clock is ahead by `offset_ns`."""
    out = [(0, 30), (10, 45), (20, 50)]  # time at A, time at B
    back = [(95, 60), (100, 80)]
    at_a = [Segment(a * MS, seq=100 * i, payload=100, identification=i) for i, (a, _) in enumerate(out)]
    at_b = [Segment(b * MS + offset_ns, seq=100 * i, payload=100, identification=i) for i, (_, b) in enumerate(out)]
    at_a += [Segment(a * MS, ack=100 * i, back=True, identification=i) for i, (a, _) in enumerate(back)]
    at_b += [Segment(b * MS + offset_ns, ack=100 * i, back=True, identification=i) for i, (_, b) in enumerate(back)]
    return at_a, sorted(at_b, key=lambda s: s.time_ns)


@pytest.mark.parametrize("offset_ns", [0, 3600 * S, -3 * S + TODAY_NS % S])
def test_a_pair_is_a_packet_and_the_next_one_back(tmp_path: Path, offset_ns: int) -> None:
    a, b = points(max(offset_ns, 0)), points(max(-offset_ns, 0))
    samples = rtt(table(b[0], tmp_path), table(a[1], tmp_path))
    # The last segment reaches B 10 ms before the first ACK leaves: (95 - 20) - (60 - 50). For the second ACK no
    # unpaired segment is left.
    assert samples.to_dicts() == [{"time_ns": 20 * MS, "flow": FORWARD, "rtt_ns": 65 * MS}]
    # At B a pair starts with an ACK, which nothing follows.
    with pytest.raises(InputError, match="no flow goes both ways"):
        rtt(table(a[1], tmp_path), table(b[0], tmp_path))


def test_lost_and_ambiguous_packets_are_excluded(tmp_path: Path) -> None:
    at_a, at_b = points(0)
    lost = [s for s in at_b if s.payload == 0 or s.identification != 2]
    [sample] = rtt(table(at_a, tmp_path), table(lost, tmp_path)).to_dicts()
    assert sample["rtt_ns"] == (95 - 10 - (60 - 45)) * MS
    twins = [*at_a, Segment(21 * MS, seq=100, payload=100, identification=1)]
    [sample] = rtt(table(twins, tmp_path), table(lost, tmp_path)).to_dicts()
    assert sample["rtt_ns"] == (95 - 0 - (60 - 30)) * MS


def test_captures_of_other_traffic_are_refused(tmp_path: Path) -> None:
    at_a, at_b = points(0)
    with pytest.raises(InputError, match="no packet is in both captures"):
        rtt(table([s for s in at_a if s.back], tmp_path), table([s for s in at_b if not s.back], tmp_path))


def test_summary_of_samples() -> None:
    values = [1, 2, 3, 4, 100]
    samples = pl.DataFrame({"time_ns": range(5), "flow": ["x"] * 5, "rtt_ns": [v * MS for v in values]})
    all_flows, one = summarise(samples).to_dicts()
    assert (all_flows["flow"], one["flow"], one["samples"]) == ("all", "x", 5)
    assert (one["min"], one["p50"], one["max"], one["mean"]) == (1.0, 3.0, 100.0, 22.0)


def test_the_commands_on_made_captures(cli: Cli, tmp_path: Path) -> None:
    for name, segments in zip(("a.pcap", "b.pcap"), points(5 * S), strict=True):
        (tmp_path / name).write_bytes(pcap([(s.time_ns, s.ip4()) for s in segments], nano=True, link=101))
    shown = cli("pcap", "rtt", "a.pcap", "b.pcap", "-o", "rtt.parquet")
    assert "65.000" in shown.output, shown.output
    assert pl.read_parquet(tmp_path / "rtt.parquet")["rtt_ns"].to_list() == [65 * MS]
    found = printed_json(cli("pcap", "rtt", "a.pcap", "b.pcap", "--json"))
    assert [(row["flow"], row["samples"], row["rtt_ms"]["max"]) for row in found["flows"]] == [
        ("all", 1, 65.0),
        (FORWARD, 1, 65.0),
    ]
    found = printed_json(cli("pcap", "goodput", "a.pcap", "--step", "10 ms", "-o", "g.parquet", "--json"))
    assert [row["bytes"] for row in found["goodput"] if row["flow"] == FORWARD][:3] == [100, 100, 100]
    assert pl.read_parquet(tmp_path / "g.parquet").height == len(found["goodput"])
    for bad in ("5", "0 s", "-1 s"):
        refused = cli("pcap", "goodput", "a.pcap", "--step", bad)
        assert (refused.exit_code, refused.output[:13]) == (2, "Error: --step")
