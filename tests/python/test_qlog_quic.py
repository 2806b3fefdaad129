"""qlog of QUIC senders: conforms to the draft, with the packets and ACK frames of the run."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import polars as pl
import pytest

import sojourn as sj
from conftest import Cli, printed_json
from qlog_schema import EVENT, FILE_SEQ, records
from sojourn.io.qlog.files import write
from sojourn.studies.runs import store
from test_qlog import data

SCENARIO = """
duration = "4 s"

[link]
rate = "5300 kbit/s"
aqm = "codel ecn true"
limit = "20 packets"
loss = 0.013

[[flows]]
kind = "tcp"
stack = "quic-rfc9002"
cc = "newreno"
rtt = "31 ms"
ecn = true

[[flows]]
kind = "tcp"
stack = "quic-rfc9002"
cc = "bbr"
rtt = "29 ms"
size = "300 kB"
start = "1 s"

[[flows]]
kind = "tcp"
rtt = "30 ms"
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> sj.Result:
    """A stored run."""
    scenario = sj.Scenario.parse(SCENARIO, {"probes.senders": True})
    return store.run(scenario, 1, tmp_path_factory.mktemp("runs"), [])


@pytest.fixture(scope="module")
def written(result: sj.Result, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write(result, tmp_path_factory.mktemp("qlog"), name="run")


def test_every_record_is_as_the_drafts_require(written: list[Path]) -> None:
    head, event = (jsonschema.Draft202012Validator(schema) for schema in (FILE_SEQ, EVENT))
    protocols = []
    for path in written:
        first, *events = records(path)
        head.validate(first)
        for one in events:
            event.validate(one)
        protocols += first["trace"]["common_fields"]["protocol_type"]
        assert first["trace"]["vantage_point"]["type"] == "client"
        assert ("tcp" in events[0]) == (protocols[-1] == "TCP")
    assert protocols == ["QUIC", "QUIC", "TCP"]


@pytest.mark.parametrize("flow", [0, 1])
def test_packets_are_sent_acknowledged_or_lost_once(result: sj.Result, written: list[Path], flow: int) -> None:
    _, *events = records(written[flow])
    segments = result.table("segments").filter(pl.col("flow") == flow)
    sent = [one["header"] for one in data(events, "transport:packet_sent")]
    initials = [one["packet_number"] for one in sent if one["packet_type"] == "initial"]
    numbers = [one["packet_number"] for one in sent if one["packet_type"] == "1RTT"]
    assert initials == [0]
    assert numbers == list(range(segments.height - 1))
    losses = data(events, "recovery:packet_lost")
    lost = [one["header"]["packet_number"] for one in losses]
    assert len(lost) == len(set(lost)) == result.table("losses").filter(pl.col("flow") == flow).height > 3
    assert {one["trigger"] for one in losses} <= {"reordering_threshold", "time_threshold"}
    frames = [frame for one in data(events, "transport:packet_received") for frame in one["frames"]]
    acked = {n for frame in frames for first, last in frame["acked_ranges"] for n in range(first, last + 1)}
    assert acked <= set(numbers)
    # Spurious losses are rare.
    assert len(acked & set(lost)) <= 1
    assert all(frame["acked_ranges"] == sorted(frame["acked_ranges"]) for frame in frames)
    delays = [frame["ack_delay"] for frame in frames]
    assert 0 <= min(delays) <= max(delays) <= 25
    assert flow or max(delays) > 0
    assert ("ce" in frames[-1]) == (flow == 0)


def test_retransmissions_have_the_lost_bytes(written: list[Path]) -> None:
    _, *events = records(written[0])
    sent = data(events, "transport:packet_sent")
    again = [one["frames"][0]["offset"] for one in sent if "trigger" in one and one["frames"]]
    lost = [one["frames"][0] for one in data(events, "recovery:packet_lost")]
    assert again
    # Retransmissions take two packets if headers have grown.
    assert all(any(0 <= offset - frame["offset"] < frame["length"] for frame in lost) for offset in again)
    assert abs(len(lost) - len(again)) < 5


def test_the_sequence_of_a_quic_flow_can_be_drawn(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "quic.toml"
    path.write_text(SCENARIO)
    run = printed_json(cli("run", path, "--set", "probes.senders=true", "--json"))
    drawn = cli("plot", "sequence", run["folder"], "--flow", "0", "-o", tmp_path / "sequence.svg")
    assert drawn.exit_code == 0, drawn.output
    assert (tmp_path / "sequence.svg").stat().st_size > 10_000
