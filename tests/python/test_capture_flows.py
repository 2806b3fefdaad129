"""`sojourn pcap show`: the flows of a capture."""

from __future__ import annotations

from pathlib import Path

import pytest

import sojourn as sj
from captures import SYN, Segment, ethernet, pcap
from conftest import Cli, printed_json
from sojourn.io.pcap.capture import load_capture
from sojourn.io.pcap.export import export
from sojourn.io.pcap.show import flows

MS = 10**6
TODAY_NS = 1_700_000_000_123_456_789

MADE = [
    Segment(0, seq=999, flags=SYN),
    Segment(7 * MS, seq=1000, payload=311),
    Segment(8 * MS, seq=1311, payload=409),
    Segment(30 * MS, seq=1000, ack=1311, back=True),  # 23 ms after the first segment
    Segment(45 * MS, seq=1311, payload=409),  # retransmission: ambiguous RTT sample (Karn)
    Segment(71 * MS, seq=1000, ack=1720, back=True),
    Segment(80 * MS, seq=1720, payload=3),
    Segment(111 * MS, seq=1000, ack=1723, back=True),  # 31 ms
    Segment(120 * MS, seq=1723, payload=5),
    Segment(147 * MS, seq=1000, ack=1728, back=True),  # 27 ms
]


def test_flows_of_a_capture_made_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap([(TODAY_NS + s.time_ns, ethernet(s.ip4())) for s in MADE], nano=True))
    every, out, back = flows(load_capture(path).packets).to_dicts()
    assert [one["flow"] for one in (every, out, back)] == [
        "all",
        "tcp 10.0.0.1:4000 > 10.0.0.2:80",
        "tcp 10.0.0.2:80 > 10.0.0.1:4000",
    ]
    assert (out["packets"], out["bytes"]) == (6, 6 * 40 + 311 + 2 * 409 + 3 + 5)
    assert (out["start_s"], out["duration_s"]) == (0, pytest.approx(0.120))
    assert out["goodput_bps"] == pytest.approx(8 * (311 + 409 + 3 + 5) / 0.120)
    assert out["repeated"] == pytest.approx(409 / (311 + 2 * 409 + 3 + 5))
    # The other two segments were alone: their ACKs may have been delayed.
    assert (out["rtt_p50_ms"], out["rtt_p95_ms"], out["delayed"]) == (23, 23, pytest.approx(2 / 3))
    assert (back["start_s"], back["goodput_bps"], back["repeated"], back["rtt_p50_ms"]) == (
        pytest.approx(0.030),
        0,
        None,
        None,
    )
    assert (every["packets"], every["duration_s"]) == (10, pytest.approx(0.147))


def test_one_packet_has_no_goodput_and_is_shown(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "one.pcap").write_bytes(pcap([(TODAY_NS, ethernet(MADE[1].ip4()))], nano=True))
    every, one = printed_json(cli("pcap", "show", "one.pcap", "--json"))["flows"]
    assert one["goodput_bps"] is None
    assert (one["packets"], every["packets"], one["repeated"]) == (1, 1, 0)
    assert cli("pcap", "show", "one.pcap").exit_code == 0


def test_retransmissions_and_rtts_equal_those_of_the_run(tmp_path: Path) -> None:
    text = """
    duration = "9 s"
    [link]
    rate = "7.3 Mbit/s"
    limit = "23 packets"
    [[flows]]
    kind = "tcp"
    count = 3
    ecn = true
    rtt = "33 ms"
    spread = "200 ms"
    [probes]
    packets = true
    headers = true
    """
    result = sj.Scenario.parse(text).run(seed=17)
    export(result, tmp_path / "a.pcapng", side="in", link="both")
    found = flows(load_capture(tmp_path / "a.pcapng").packets)
    data = found.filter(found["goodput_bps"] > 0, found["flow"] != "all").sort("flow")
    assert data.height == 3  # the other three are acknowledgments
    sent = result.flow_totals.sort("id")
    for one, of_run in zip(data.to_dicts(), sent.to_dicts(), strict=True):
        payload = one["bytes"] - 52 * one["packets"]
        # Full segments of 1448 B; the SYN has 8 B of options more than the data's headers.
        assert one["repeated"] * payload / 1448 == pytest.approx(of_run["retransmissions"], abs=0.1)
        assert of_run["retransmissions"] > 0
        assert one["ect"] > 0.9
        # Up to 23 full packets ahead of it: 38 ms. The propagation delay is before the tap.
        assert 38 / 2 < one["rtt_p50_ms"] < 38


@pytest.mark.parametrize("order", [(2, 0, 1), (1, 2, 0), (2, 1, 0), (0, 2, 1)])
def test_a_capture_that_begins_out_of_order_has_no_repeats(tmp_path: Path, order: tuple[int, ...]) -> None:
    segments = [Segment(at * 1000, seq=(number * 1000 - 500) % 2**32, payload=1000) for at, number in enumerate(order)]
    again = Segment(9000, seq=500, payload=1000)
    for sent, repeated in ((segments, 0.0), ([*segments, again], 0.25)):
        (tmp_path / "own.pcap").write_bytes(pcap([(one.time_ns, one.ip4()) for one in sent], link=101))
        capture = load_capture(tmp_path / "own.pcap")
        assert flows(capture.packets, capture.blocks)["repeated"].to_list() == pytest.approx([repeated] * 2)
