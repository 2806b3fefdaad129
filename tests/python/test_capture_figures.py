"""Figures of captures: RTT, retransmissions, goodput, sequence numbers, SACK blocks."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sojourn as sj
from conftest import Cli
from sojourn.io.pcap.capture import load_capture
from sojourn.io.pcap.export import export
from sojourn.io.pcap.goodput import flow_name, goodput
from sojourn.io.pcap.sender import sender_rtt, without_delayed_acks

LOSSY = """
duration = "4 s"

[link]
rate = "3.7 Mbit/s"
limit = "12 packets"

[[flows]]
kind = "tcp"
count = 2
rtt = "37 ms"

[[flows]]
kind = "cbr"
rate = "200 kbit/s"

[probes]
packets = true
headers = true
senders = true
"""


@pytest.fixture(scope="module")
def run() -> sj.Result:
    return sj.Scenario.parse(LOSSY).run()


@pytest.fixture
def own(run: sj.Result, tmp_path: Path) -> Path:
    export(run, tmp_path / "own.pcapng", side="in", link="both")
    return tmp_path / "own.pcapng"


def columns(kind: str, cli: Cli, *words: object) -> pl.DataFrame:
    """Data of a figure."""
    done = cli("plot", kind, *words, "-o", "data.csv")
    assert done.exit_code == 0, done.output
    return pl.read_csv("data.csv", infer_schema_length=None)


def test_rtt_and_retransmissions(cli: Cli, own: Path) -> None:
    table = columns("timeseries", cli, own)
    capture = load_capture(own)
    packets = capture.packets
    samples = without_delayed_acks(sender_rtt(packets, capture.blocks))
    assert table["panel"].n_unique() == samples["flow"].n_unique() == 2
    again = table.filter(pl.col("series") == "retransmissions")
    assert again.height > 5, "the buffer is short"
    times = packets.with_columns(flow=flow_name()).filter(pl.col("payload") > 0, pl.col("protocol") == "tcp")
    assert again.height == times.height - times.unique(["flow", "seq"]).height


def test_distributions_are_of_the_samples(cli: Cli, own: Path) -> None:
    capture = load_capture(own)
    samples = without_delayed_acks(sender_rtt(capture.packets, capture.blocks))
    table = columns("cdf", cli, own)
    largest = samples.group_by("flow").agg(pl.col("rtt_ns").max() / 1e6)["rtt_ns"].sort().to_list()
    found = table.group_by("series").agg(pl.col("rtt_ms").max())["rtt_ms"].sort().to_list()
    assert found == pytest.approx(largest)
    assert columns("ccdf", cli, own)["rtt_ms"].max() == pytest.approx(max(largest))


def test_rates_add_up_to_the_goodput(cli: Cli, own: Path) -> None:
    table = columns("rates", cli, own, "--step", "0.25")
    expected = goodput(load_capture(own).packets, 250_000_000).filter(pl.col("flow") == "all")["goodput_bps"] / 1e6
    found = table.filter(pl.col("series") == "all flows")["goodput_mbps"]
    assert found.to_list() == pytest.approx(expected.to_list())


def test_the_sequence_of_a_capture_equals_the_sender_s(cli: Cli, own: Path, run: sj.Result) -> None:
    packets = load_capture(own)
    assert packets.blocks.height > 0
    table = columns("sequence", cli, own, "--from", 1, "--to", 2)
    names = set(table["series"])
    assert names >= {"segment", "retransmission", "cumulative ACK", "SACKed"}
    shown = table.filter(pl.col("series") == "segment").height
    flow = packets.packets.with_columns(flow=flow_name()).filter(pl.col("payload") > 0, pl.col("protocol") == "tcp")
    first = flow.group_by("flow").agg(pl.col("payload").sum()).sort("payload", descending=True)["flow"][0]
    start = int(packets.packets["time_ns"].min())  # type: ignore[arg-type]
    own_rows = flow.filter(pl.col("flow") == first, (pl.col("time_ns") - start).is_between(10**9, 2 * 10**9))
    again = table.filter(pl.col("series") == "retransmission", pl.col("mark") == "strokes").height
    assert shown + again == own_rows.height


@pytest.mark.parametrize(
    ("words", "expected_text"),
    [
        (("box", "own.pcapng"), "box cannot be drawn from a capture; expected one of timeseries"),
        (("sequence", "own.pcapng", "--flow", "7"), "2 TCP flows have data"),
        (("rates", "own.pcapng", "--step", "99"), "--step 99"),
        (("sequence", "own.pcapng", "--from", "90"), "--from 90"),
        (("cdf", "own.pcapng", "results"), "beside captures only"),
    ],
)
def test_undrawable_captures_give_a_one_line_error(
    cli: Cli, own: Path, words: tuple[str, ...], expected_text: str
) -> None:
    done = cli("plot", *words)
    assert done.exit_code == 2
    assert expected_text in done.output
    assert len(done.output.strip().splitlines()) == 1
