"""The figures of a flow agree with a capture of the same run, and with the sender's records."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sojourn as sj
from drawn_figures import drawn
from sojourn.figures.marks import Series, series_of
from sojourn.figures.pacing import sends_of
from sojourn.io.pcap.capture import load_capture
from sojourn.io.pcap.export import export
from sojourn.io.pcap.wire import ports
from sojourn.model.analysis.senders import delivered, merge_blocks, newly_sacked, subtract_blocks

ACCESS_NS = 15_000_000
"""Delay of the access link before the queue: half of the RTT."""
LOSSY = """
duration = "6 s"

[link]
rate = "4 Mbit/s"
aqm = "codel ecn true"
limit = "15 packets"

[[flows]]
kind = "tcp"
rtt = "30 ms"
count = 2

[[flows]]
kind = "tcp"
rtt = "30 ms"
cc = "bbr"
ecn = true

[probes]
packets = true
headers = true
senders = true
"""


@pytest.fixture(scope="module")
def lossy() -> sj.Result:
    return sj.Scenario.parse(LOSSY).run()


def parts(result: sj.Result, kind: str = "sequence", **options: str) -> dict[str, Series]:
    """Drawn series of a figure with one panel, by name."""
    figure = drawn(kind, [result], **options)
    axes = figure.axes if not isinstance(figure.axes, list) else figure.axes[0]
    # A retransmission is drawn as a line and a point.
    return {one.name: one for one in reversed(series_of(axes))}


def seen(result: sj.Result, folder: Path, side: str, flow: int) -> pl.DataFrame:
    """Data segments of a flow on one side of the first queue, from a capture."""
    path = folder / f"{side}.pcapng"
    export(result, path, side=side)
    near, far = ports(flow)
    own = (pl.col("source_port") == near) & (pl.col("destination_port") == far) & (pl.col("payload") > 0)
    return load_capture(path).packets.filter(own)


@pytest.mark.parametrize("flow", [0, 2])
def test_the_drawn_sequence_equals_a_capture(lossy: sj.Result, tmp_path: Path, flow: int) -> None:
    shown = parts(lossy, flow=str(flow), **{"from": "0", "to": "6"})
    entered, left = (seen(lossy, tmp_path, side, flow) for side in ("in", "out"))
    first = int(entered["seq"].min())  # type: ignore[arg-type]
    strokes = [shown[name].columns for name in ("segment", "retransmission")]
    drawn_rows = {
        (round(1e9 * x) + ACCESS_NS, round(1e3 * low), round(1e3 * high))
        for one in strokes
        for x, low, high in zip(one["x"], one["y_low"], one["y_high"], strict=True)
    }
    captured = {
        (time, seq - first, seq - first + payload)
        for time, seq, payload in entered.select("time_ns", "seq", "payload").iter_rows()
    }
    # Packets on the access link at the end have not reached the queue.
    late = {row for row in drawn_rows if row[0] > 6_000_000_000}
    assert captured == drawn_rows - late
    assert len(captured) > 200
    # A segment is a retransmission if the capture has its sequence numbers already.
    ends = entered["seq"].cast(pl.Int64) + entered["payload"]
    before = ends.cum_max().shift(1, fill_value=0)
    again = entered.filter(ends <= before)
    assert len(strokes[1]["x"]) - len([row for row in late if row[2] < max(e for _, _, e in captured)]) == again.height
    assert again.height > 5
    # Packets that enter and do not leave are dropped, except those queued at the end.
    missing = entered.join(left, on="identification", how="anti")
    waiting = lossy.waiting.filter((pl.col("link") == "forward") & (pl.col("flow") == flow)).height
    drops = shown["drop"].columns
    assert len(drops["x"]) == missing.height - waiting
    middle = missing["seq"].cast(pl.Int64) - first + missing["payload"] / 2
    assert set(np.round(drops["y"], 6)) <= set((middle / 1e3).round(6))
    # Departing packets have marks in the header.
    marks = left.filter(pl.col("ecn") == 3)
    assert len(shown["congestion mark"].columns["x"] if "congestion mark" in shown else ()) == marks.height
    assert (marks.height > 0) == (flow == 2)
    if marks.height:
        assert shown["congestion mark"].columns["x"].tolist() == pytest.approx((marks["time_ns"] / 1e9).to_list())


def test_acknowledgments_and_window_are_the_sender_s(lossy: sj.Result) -> None:
    shown = parts(lossy, flow="1", **{"from": "1", "to": "3"})
    rows = lossy.senders.filter((pl.col("flow") == 1) & pl.col("time_s").is_between(1, 3, closed="left"))
    line = shown["cumulative ACK"].columns
    assert line["x"][[0, -1]].tolist() == [1, 3]
    assert line["y"][1:-1].tolist() == ((rows["una"] - 1) / 1e3).to_list()
    assert np.all(np.diff(line["y"]) >= 0)
    # SACKed data is above the cumulative ACK, and each byte is reported once.
    sacked = shown["SACKed"].columns
    at = np.searchsorted(line["x"], sacked["x"], side="right") - 1
    assert np.all(sacked["y_low"] >= line["y"][at])
    output = sorted(zip(sacked["y_low"], sacked["y_high"], strict=True))
    assert all(first[1] <= second[0] for first, second in pairwise(output))


def test_a_limiting_window_is_drawn_and_a_distant_one_noted(lossy: sj.Result) -> None:
    near = lossy.scenario.replace({"flows.0.receive_window": "20 kB"}).run()
    shown = parts(near, flow="0", **{"from": "1", "to": "5"})
    edge, una = (shown[name].columns["y"] for name in ("receive window", "cumulative ACK"))
    assert edge - una == pytest.approx(20)
    figure = drawn("sequence", [lossy], flow="0", **{"from": "2", "to": "2.1"}).figure
    texts = " ".join(text.get_text() for text in figure.texts)
    assert "receive window: at least" in texts.replace("\n", " ")


def test_without_headers_the_figure_names_the_probe() -> None:
    result = sj.Scenario.parse(LOSSY, {"probes.headers": False, "probes.packets": False}).run()
    figure = drawn("sequence", [result]).figure
    assert "--set probes.packets=true --set probes.headers=true" in " ".join(
        " ".join(text.get_text() for text in figure.texts).split()
    )


def test_a_flow_that_is_short_is_shown_as_a_whole() -> None:
    result = sj.Scenario.parse(LOSSY, {"flows.0.size": "50 kB", "flows.1.start": "1 s"}).run()
    shown = parts(result, flow="0")
    strokes = shown["segment"].columns
    assert (strokes["y_low"].min(), strokes["y_high"].max()) == (0, 50)


def test_pacing_shows_rates_gaps_bursts_and_windows(lossy: sj.Result) -> None:
    figure = drawn("pacing", [lossy], flow="0,2", **{"from": "2", "to": "4"})
    assert isinstance(figure.axes, list)
    rates, gaps, bursts, windows = ({one.name: one.columns for one in series_of(axes)} for axes in figure.axes)
    inside = pl.col("time_s").is_between(2, 4, closed="left")
    rows = lossy.senders.filter(inside & (pl.col("flow") == 2))
    assert rates["pacing rate, bbr"]["y"][1:-1].tolist() == (rows["pacing_bps"] / 1e6).to_list()
    assert "pacing rate, cubic (flow 0)" not in rates  # CUBIC is not paced
    assert windows["cwnd, bbr"]["y"][1:-1].tolist() == rows["cwnd"].to_list()
    assert windows["in flight, bbr"]["y"][1:-1].tolist() == rows["in_flight"].to_list()
    sent = lossy.segments.filter(inside & (pl.col("flow") == 0) & (pl.col("payload") > 0))
    counts = sent.group_by("time_s", maintain_order=True).len()
    assert bursts["cubic (flow 0)"]["x"].tolist() == counts["time_s"].to_list()
    assert bursts["cubic (flow 0)"]["y"].tolist() == counts["len"].to_list()
    assert gaps["cubic (flow 0)"]["y"][1:].tolist() == pytest.approx(
        np.diff(1e3 * counts["time_s"].to_numpy()).tolist()
    )
    # The rates of all steps add up to the bytes received.
    steps = rates["delivered rate, bbr"]
    total = float(np.sum(steps["y"] * (steps["x_end"] - steps["x"]))) / 8e-6
    una = lossy.acks.filter(pl.col("flow") == 2).filter(pl.col("time_s").is_between(2, 4))
    assert total == pytest.approx(una["ack"].max() - una["ack"].min(), rel=0.05)  # type: ignore[operator]
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["rate [Mbit/s]", "gap [ms]", "burst\n[segments]", "window\n[segments]"]


def acks(*rows: tuple[int, list[tuple[int, int]]]) -> pl.DataFrame:
    columns: dict[str, list[Any]] = {"ack": [number for number, _ in rows]}
    for place in range(3):
        for at, word in enumerate(("from", "to")):
            columns[f"sack{place + 1}_{word}"] = [blocks[place][at] if place < len(blocks) else 0 for _, blocks in rows]
    return pl.DataFrame(columns)


def test_newly_sacked_and_delivered_by_hand() -> None:
    output = acks(
        (101, []),
        (101, [(201, 301)]),
        (101, [(401, 501), (201, 301)]),
        (101, [(201, 401), (401, 501)]),
        (101, [(1, 101), (201, 501)]),  # a duplicate
        (501, []),
    )
    assert newly_sacked(output) == [[], [(201, 301)], [(401, 501)], [(301, 401)], [], []]
    assert delivered(output).tolist() == [100, 200, 300, 400, 400, 500]


def test_blocks_without_others() -> None:
    assert subtract_blocks((0, 10), []) == [(0, 10)]
    assert subtract_blocks((0, 10), [(0, 10)]) == []
    assert subtract_blocks((0, 10), [(2, 3), (5, 20)]) == [(0, 2), (3, 5)]
    assert subtract_blocks((5, 5), []) == []
    assert merge_blocks([(5, 7), (0, 2), (2, 4)]) == [(0, 4), (5, 7)]


def test_segments_that_leave_at_once_are_one_burst() -> None:
    rows = [(0.0, 0), (1.0, 10), (1.0, 10), (1.5, 10), (1.5, 0)]
    sends = sends_of(pl.DataFrame(rows, schema=["time_s", "payload"], orient="row"))
    assert sends["segments"].to_list() == [2, 1]
    assert sends["gap_ms"].to_list() == [None, 500]
