"""Metrics of recordings: one-sided RTTs, captures and Flent's files in `sojourn fit`, random trials."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import Cli, printed_json
from sojourn.base.errors import InputError
from sojourn.io.flent.export import export
from sojourn.io.flent.files import save_flent
from sojourn.io.pcap.capture import load_capture
from sojourn.io.pcap.export import export as export_capture
from sojourn.io.pcap.sender import NO_SACK, Acks, sender_rtt, triggered_acks, without_delayed_acks
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.fitting.coverage import summary_of
from sojourn.studies.fitting.data import data_of
from sojourn.studies.fitting.observed import observed_value, round_trips
from sojourn.studies.fitting.recording import data_of_recording, of_capture, of_flent, read_recording
from sojourn.studies.fitting.study import value_of

FREE = {"link.rate": "2..20 Mbit/s"}


def _whole(*numbers: int) -> np.ndarray[Any, Any]:
    return np.array(numbers, dtype=np.int64)


def _caused(
    sent: list[tuple[int, int, int]], acks: list[tuple[int, int, int | None, bool]]
) -> list[tuple[int, int, bool]]:
    """RTT samples of segments (time, first byte, end) and ACKs (time, ACK number, SACK, data)."""
    segments = [_whole(*column) for column in zip(*sent, strict=True)] or [_whole()] * 3
    times, covers, tops, carries = zip(*acks, strict=True)
    own = _whole(*(NO_SACK if top is None else top for top in tops))
    found = triggered_acks(
        (segments[0], segments[1], segments[2]), Acks(_whole(*times), _whole(*covers), own, np.array(carries))
    )
    return list(zip(*(column.tolist() for column in found), strict=True))


MS = 1_000_000


def test_an_acknowledgment_is_caused_by_the_last_segment_that_it_covers() -> None:
    """The ACK of the first of two segments was delayed until the second; the third is not acknowledged."""
    sent = [(3, 0, 1000), (5, 1000, 2000), (11, 2000, 3000)]
    assert _caused(sent, [(40, 0, None, False), (47, 2000, None, False)]) == [(5, 42, False)]


def test_retransmissions_do_not_count() -> None:
    """The second segment and a part of the third are retransmitted; the fourth and the first are sent once."""
    sent = [(1, 1, 101), (2, 101, 201), (3, 201, 301), (4, 301, 401), (30, 101, 250)]
    assert _caused(sent, [(21, 101, None, False), (55, 401, None, False)]) == [(1, 20, False)]
    assert _caused([], [(1, 1, None, False)]) == []


def test_above_a_hole_sack_counts_and_the_repair_does_not() -> None:
    """The second segment is lost; the third and the fourth are SACKed on arrival, then the hole is filled."""
    sent = [(1, 0, 100), (2, 100, 200), (3, 200, 300), (4, 300, 400), (40, 100, 200), (41, 400, 500)]
    acks = [(21, 100, None, False), (23, 100, 300, False), (24, 100, 400, False), (60, 400, None, False)]
    assert _caused(sent, [*acks, (61, 500, None, False)]) == [
        (1, 20, False),
        (3, 20, False),
        (4, 20, False),
        (41, 20, True),
    ]
    without = [(time, ack, None, data) for time, ack, _, data in acks]
    assert _caused(sent, without) == [(1, 20, False)]


def test_lone_segments_may_have_a_delayed_acknowledgment() -> None:
    """The ACK of a segment alone for 25 ms may be delayed, else it is not. A response includes the program's time."""
    sent = [(0, 0, 1000), (90 * MS, 1000, 2000), (100 * MS, 2000, 3000), (101 * MS, 3000, 3100)]
    acks = [(60 * MS, 1000, None, False), (110 * MS, 2000, None, False), (121 * MS, 3000, None, True)]
    reported = [(0, 60 * MS, True), (90 * MS, 20 * MS, False), (100 * MS, 21 * MS, True)]
    assert _caused(sent, acks) == reported
    table = pl.DataFrame({"flow": ["a"] * 3 + ["b"], "delayed": [True, False, True, True]})
    assert without_delayed_acks(table).rows() == [("a", False), ("b", True)], "of b there are no others"


def test_a_part_of_a_super_packet_is_a_sample_of_it() -> None:
    sent = [(1, 0, 20 * 1448), (2, 20 * 1448, 40 * 1448)]
    acks = [(31, 4 * 1448, None, False), (33, 20 * 1448, None, False), (37, 22 * 1448, None, False)]
    assert _caused(sent, acks) == [(1, 30, False), (1, 32, False), (2, 35, False)]


def _packets(rows: list[tuple[int, bool, int, int, int, int]]) -> pl.DataFrame:
    """A capture of rows: time, outgoing, sequence number, ACK number, flags, payload."""
    ends = {True: ("10.0.0.1", 10000, "10.0.0.2", 5001), False: ("10.0.0.2", 5001, "10.0.0.1", 10000)}
    found = []
    for time_ns, out, seq, ack, flags, payload in rows:
        source, port, destination, other = ends[out]
        found.append((time_ns, source, port, destination, other, "tcp", 0, seq, ack, flags, payload, 0, 40 + payload))
    names = ["time_ns", "source", "source_port", "destination", "destination_port", "protocol", "identification"]
    return pl.DataFrame(found, schema=[*names, "seq", "ack", "flags", "payload", "ecn", "ip_bytes"], orient="row")


def test_numbers_that_wrap_and_ports_that_are_used_again() -> None:
    top = 2**32
    rows = [
        (100, True, top - 150, 7, 2, 0),
        (200, False, 7, top - 149, 18, 0),
        (300, True, top - 149, 8, 16, 100),
        (310, True, top - 49, 8, 16, 100),
        (390, False, 8, 51, 16, 0),
        (1000, True, 5000, 7, 2, 0),
        (1100, False, 7, 5001, 18, 0),
        (1200, True, 5001, 8, 16, 77),
        (1333, False, 8, 5078, 16, 0),
    ]
    found = sender_rtt(_packets(rows))
    assert list(zip(found["time_ns"], found["rtt_ns"], strict=True)) == [(310, 80), (1200, 133)]
    assert found["flow"].unique().to_list() == ["tcp 10.0.0.1:10000 > 10.0.0.2:5001"]
    with pytest.raises(InputError, match="both directions"):
        sender_rtt(_packets([row for row in rows if row[1]]))


SENDERS = """
duration = "21 s"
warmup = "3 s"
link = { rate = "5.3 Mbit/s", delay = "41 ms", aqm = "codel" }
reverse = { rate = "1 Gbit/s", delay = "0 s" }
flows = [{ kind = "tcp", count = 2, spread = "1 s" }]
probes = { packets = true, headers = true, senders = true }
"""


@pytest.fixture(scope="module")
def sent() -> Result:
    return Scenario.parse(SENDERS, {}).run(9)


def test_a_capture_beside_the_senders_has_the_numbers_of_the_run(sent: Result, tmp_path: Path) -> None:
    """Equal up to the transmission time of ACKs, half a microsecond."""
    path = tmp_path / "a.pcapng"
    export_capture(sent, path, side="in", link="both")
    data = data_of_recording(of_capture(path, 3.0), FREE, 18.0)
    numbers = {number.metric: number for number in data.numbers}
    assert list(numbers)[:3] == ["tcp goodput", "retransmitted", "rtt mean"]
    for name, number in numbers.items():
        # Goodput is measured at the queue's entrance here and at its exit there. Long round trips are few,
        # so the last tenth of a second matters.
        # RTTs differ by up to half of a packet's 2.3 ms, and so may quantiles.
        near = {
            "tcp goodput": 0.05,
            "retransmitted": 0.03,
            "rtt mean": 0.3,
            **dict.fromkeys(("rtt 25%", "rtt 50%", "rtt 75%", "rtt 90%"), 1.15),
        }
        near.setdefault(name, 0.002 * number.value)
        assert value_of(sent, number) == pytest.approx(number.value, abs=near[name]), name
        assert 0 < (number.sd or 0) < 0.5 * number.value, name
    capture = load_capture(path)
    samples = without_delayed_acks(sender_rtt(capture.packets, capture.blocks))["rtt_ns"].to_numpy() / 1e6
    assert samples.min() > 41
    assert len(round_trips(sent)) > 0.8 * len(samples)
    assert data.together is not None and data.together.runs == pytest.approx(1.0, abs=0.02)


LINE = """
duration = "21 s"
warmup = "3 s"
link = { rate = "5.3 Mbit/s", aqm = "codel" }
flows = [
  { kind = "tcp", count = 2, rtt = "47 ms", spread = "1 s" },
  { kind = "request", request = "64 B", size = "64 B", gap = "150 ms", rtt = "47 ms" },
]
probes = { flows = "200 ms", transfers = true }
"""


def test_a_data_file_of_flent_has_the_numbers_of_the_run() -> None:
    """Pings within the window: the summary uses the time of the reply, the file the time of the request."""
    result = Scenario.parse(LINE, {}).run(4)
    data = data_of_recording(of_flent(export(result), 3.0), FREE, 18.0)
    names = [number.metric for number in data.numbers]
    assert names == ["tcp goodput", "ping mean", *(f"ping {share}%" for share in (10, 25, 50, 75, 90, 95))]
    for number in data.numbers:
        assert value_of(result, number) == pytest.approx(number.value, rel=0.03), number.metric
        assert number.sd is not None and number.sd > 0


def test_a_recording_s_deviations_equal_those_of_seeds() -> None:
    """For goodput and upper quartile (the median is equal in most runs): root mean square over eight runs."""
    values, deviations = [], []
    for seed in range(60, 68):
        result = Scenario.parse(LINE, {"duration": "60 s"}).run(seed)
        data = data_of_recording(of_flent(export(result), 3.0), FREE, 57.0)
        chosen = [number for number in data.numbers if number.metric in ("tcp goodput", "ping 75%")]
        values.append([number.value for number in chosen])
        deviations.append([number.sd or 0.0 for number in chosen])
    seeds = np.std(values, axis=0, ddof=1)
    own = np.sqrt(np.mean(np.square(deviations), axis=0))
    assert (own > 0.4 * seeds).all() and (own < 3.5 * seeds + 0.05).all(), (own, seeds)


def test_a_fit_of_a_data_file_finds_rate_and_round_trip_time(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "model.toml").write_text(LINE.replace("21 s", "11 s"))
    save_flent(export(Scenario.parse(LINE, {}).run(4)), tmp_path / "measured.flent.gz")
    free = ["--free", "link.rate=2..20 Mbit/s", "--free", "flows.0.rtt, flows.1.rtt=20..150 ms"]
    reported = printed_json(cli("fit", "model.toml", "measured.flent.gz", *free, "-o", "out", "--json"))
    rate, rtt = reported["keys"]
    assert reported["explained"] and rate["state"] == rtt["state"] == "determined"
    assert rate["value"] == pytest.approx(5.3, rel=0.02) and rate["high"] - rate["low"] < 0.2
    assert rtt["value"] == pytest.approx(47, rel=0.06) and rtt["high"] - rtt["low"] < 8
    assert reported["best"]["flows.0.rtt"] == reported["best"]["flows.1.rtt"]


def test_a_fit_of_a_capture_finds_rate_and_delay(cli: Cli, sent: Result, tmp_path: Path) -> None:
    text = SENDERS.replace("packets = true, headers = true, senders = true", "")
    (tmp_path / "model.toml").write_text(text.replace("21 s", "8 s"))
    export_capture(sent, tmp_path / "a.pcapng", side="in", link="both")
    free = ["--free", "link.rate=4..8 Mbit/s", "--free", "link.delay=20..80 ms"]
    reported = printed_json(cli("fit", "model.toml", "a.pcapng", *free, "-o", "out", "--json"))
    rate, delay = reported["keys"]
    assert rate["value"] == pytest.approx(5.3, rel=0.02)
    assert delay["value"] == pytest.approx(41, rel=0.05)
    assert reported["explained"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.fit.json"]


def test_missing_data_of_a_recording_is_requested(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "model.toml").write_text(LINE)
    result = Scenario.parse(LINE, {}).run(4)
    save_flent(export(result), tmp_path / "a.flent.gz")
    free = ("--free", "link.rate=2..20 Mbit/s")
    (tmp_path / "plain.toml").write_text(
        'duration = "9 s"\nlink = { rate = "5 Mbit/s" }\nflows = [{ kind = "tcp", spread = "1 s" }]\n'
    )
    for words, command in (
        ("--free", ("model.toml", "a.flent.gz")),
        ("skip less", ("model.toml", "a.flent.gz", *free, "--skip", "15 s")),
        ('kind = "request"', ("plain.toml", "a.flent.gz", *free)),
        ("--set warmup=5s", ("model.toml", "a.flent.gz", *free, "--set", "warmup=auto")),
        ("not a recording", ("model.toml", "plain.toml", *free, "--skip", "1 s")),
    ):
        refused = cli("fit", *command, "-o", "out")
        assert refused.exit_code == 2 and words in refused.stderr, refused.stderr
        # On a busy machine the runs for the diagnosis take long enough for a line of progress.
        assert len([line for line in refused.stderr.strip().splitlines() if not line.endswith(" left")]) == 1
    with pytest.raises(InputError, match=r"a\.flent\.gz: free"):
        read_recording(tmp_path / "a.flent.gz", {"link.aqm": ["codel", "pie"]}, 3.0, 18.0)


@pytest.mark.parametrize(
    ("word", "remedy"),
    [
        ("ping 33%", "quantiles of pings"),
        ("rtt 100%", "not a quantile"),
        ("rtt 5", "unknown"),
        ("pings mean", "unknown"),
    ],
)
def test_metrics_that_are_not_observed(word: str, remedy: str) -> None:
    with pytest.raises(InputError, match=remedy):
        data_of({"free": FREE, "measured": [{"metric": word, "value": 3.1}]})


def test_metrics_from_outside_equal_the_summary(sent: Result) -> None:
    total = sum(flow["goodput_bps"] for flow in sent.totals["flows"])
    assert (
        observed_value(sent, "tcp goodput") == observed_value(sent, "tcp goodput forward") == pytest.approx(total / 1e6)
    )
    assert observed_value(sent, "drops") is None
    shares = [observed_value(sent, f"rtt {share}%") or 0.0 for share in (5, 50, 95)]
    assert 41 < shares[0] < shares[1] < shares[2]
    with pytest.raises(InputError, match="reverse"):
        observed_value(sent, "tcp goodput reverse")
    with pytest.raises(InputError, match="sends requests"):
        observed_value(sent, "ping 50%")


DRAWN = """
[free]
"link.rate" = "2..20 Mbit/s"
"flows.0.rtt, flows.1.rtt" = "20..150 ms"
[truth]
"link.rate" = "4..7 Mbit/s"
"flows.0.rtt, flows.1.rtt" = "30..60 ms"
[[measured]]
metric = "goodput"
value = 1
[[measured]]
metric = "ping 25%"
value = 1
[[measured]]
metric = "drops"
value = 1
"""


def test_drawn_trials_go_on_where_they_were(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "model.toml").write_text(LINE.replace("21 s", "5 s"))
    (tmp_path / "drawn.toml").write_text(DRAWN)
    command = ("fit", "model.toml", "drawn.toml", "-o", "out")
    first = printed_json(cli(*command, "--drawn", "1", "--json"))
    assert first["computed"] == 1 and [row["trials"] for row in first["keys"]] == [1, 1]
    kept = json.loads(Path(first["file"]).read_text())["trials"]
    for trial in kept:
        rate, rtt = trial["keys"]
        assert 4 <= rate["truth"] <= 7 and 30 <= rtt["truth"] <= 60
        assert rate["covered"] == (rate["low"] <= rate["truth"] <= rate["high"])
        assert rate["value"] == pytest.approx(rate["truth"], rel=0.1)
    assert first["keys"] == summary_of(kept)
    more = printed_json(cli(*command, "--drawn", "2", "--json"))
    assert more["computed"] == 1
    both = json.loads(Path(more["file"]).read_text())["trials"]
    assert both[:1] == kept and both[1]["keys"][0]["truth"] != kept[0]["keys"][0]["truth"]
    assert "Trials: 0 computed" in cli(*command, "--drawn", "2").output
    other = cli(*command, "--drawn", "1", "--set", "link.aqm=droptail", "--json")
    assert printed_json(other)["computed"] == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('"4..7 Mbit/s"', '"1..7 Mbit/s"'), ["truth.link.rate", "2..20 Mbit/s"]),
        (('"4..7 Mbit/s"', '"4..7 kbit/s"'), ["truth.link.rate"]),
        (('[truth]\n"link.rate"', '[truth]\n"link.rates"'), ["link.rates", "did you mean"]),
        (('flows.1.rtt" = "20', 'flows.0.rtt" = "20'), ["flows.0.rtt", "twice"]),
    ],
)
def test_true_values_outside_the_free_ranges(
    cli: Cli, tmp_path: Path, change: tuple[str, str], words: list[str]
) -> None:
    (tmp_path / "model.toml").write_text(LINE)
    assert change[0] in DRAWN
    (tmp_path / "drawn.toml").write_text(DRAWN.replace(*change))
    refused = cli("fit", "model.toml", "drawn.toml", "--drawn", "1", "-o", "out")
    assert refused.exit_code == 2 and all(word in refused.stderr for word in words), refused.stderr
    seeded = cli("fit", "model.toml", "drawn.toml", "--drawn", "1", "--seed", "3", "-o", "out")
    assert seeded.exit_code == 2 and "leave the other options out" in seeded.stderr


def test_rtt_of_one_capture_on_the_command_line(cli: Cli, sent: Result, tmp_path: Path) -> None:
    export_capture(sent, tmp_path / "a.pcapng", side="in", link="both")
    reported = printed_json(cli("pcap", "rtt", "a.pcapng", "-o", "rtt.parquet", "--json"))
    assert reported["b"] is None and reported["flows"][0]["flow"] == "all"
    samples = pl.read_parquet(tmp_path / "rtt.parquet")
    assert reported["flows"][0]["samples"] == samples.height > 1000
    assert reported["flows"][0]["rtt_ms"]["min"] > 41
    assert "RTT from A on" in cli("pcap", "rtt", "a.pcapng").output
