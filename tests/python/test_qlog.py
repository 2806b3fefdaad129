"""qlog of senders: conforms to the draft, equals the tables, and is written to the right place."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

import sojourn as sj
from conftest import Cli, entries, printed_json
from qlog_schema import EVENT, FILE_SEQ, names, records
from sojourn.io.qlog import files
from sojourn.io.qlog.events import SenderEvent, Trace
from sojourn.io.qlog.files import write
from sojourn.studies.runs import store

LOSSY = """
duration = "4 s"

[link]
rate = "4 Mbit/s"
aqm = "codel ecn true"
limit = "20 packets"
loss = 0.01

[[flows]]
kind = "tcp"
rtt = "30 ms"
ecn = true

[[flows]]
kind = "tcp"
cc = "bbr"
rtt = "30 ms"
size = "300 kB"

[[flows]]
kind = "web"
interval = "500 ms"
size = "20 kB"
rtt = "20 ms"

[[flows]]
kind = "cbr"
rate = "100 kbit/s"
"""
WHOLE = ("segments", "acks", "losses", "senders")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> sj.Result:
    """A stored run."""
    scenario = sj.Scenario.parse(LOSSY, {"probes.senders": True})
    return store.run(scenario, 1, tmp_path_factory.mktemp("runs"), [])


@pytest.fixture(scope="module")
def written(result: sj.Result, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write(result, tmp_path_factory.mktemp("qlog"), name="run")


def own(result: sj.Result, table: str, path: Path) -> pl.DataFrame:
    """Rows of the file's sender."""
    _, flow, *sink = path.stem.split("-")
    return result.table(table).filter((pl.col("flow") == int(flow)) & (pl.col("end") == len(sink)))


def data(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [event["data"] for event in events if event["name"] == name]


def test_every_record_is_as_the_drafts_require(written: list[Path]) -> None:
    head, event = (jsonschema.Draft202012Validator(schema) for schema in (FILE_SEQ, EVENT))
    for path in written:
        first, *events = records(path)
        head.validate(first)
        assert events
        for one in events:
            event.validate(one)
        times = [one["time"] for one in events]
        assert times == sorted(times)
        assert all(name == name.lower() for one in (first, *events) for name in names(one))
        # Tools search for them at the start of the file.
        assert all(word in path.read_text()[:256] for word in ('"qlog_version":"0.3"', '"qlog_format":"JSON-SEQ"'))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("transport:packet_sent", {"header": {"packet_type": "1RTT"}}),
        ("transport:packet_sent", {"header": {"packet_type": "TCP", "packet_number": 1}}),
        ("recovery:metrics_updated", {}),
        ("recovery:metrics_updated", {"congestion_window": 1.5}),
        ("recovery:loss_timer_updated", {"event_type": "started"}),
        ("recovery:packets_lost", {}),
    ],
)
def test_the_schema_refuses_fields_outside_the_drafts(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"time": 0, "name": name, "data": wrong}, EVENT)


def test_every_sender_has_a_file(result: sj.Result, written: list[Path]) -> None:
    senders = result.table("segments").select("flow", "end").unique().sort("flow", "end").rows()
    assert [path.name for path in written] == [f"flow-{flow}{'-sink' * end}.sqlog" for flow, end in senders]
    assert len(senders) > 10  # including connections, with a sender at each end
    points = {path.name: records(path)[0]["trace"]["vantage_point"]["type"] for path in written}
    assert points["flow-0.sqlog"] == "client"
    pages = [name for name in points if name.endswith("-sink.sqlog")]
    assert all(points[name] == "client" for name in pages)
    # The last connection may have been opened at the end.
    servers = [name for page in pages if (name := page.replace("-sink", "")) in points]
    assert len(servers) >= len(pages) - 1
    assert {points[name] for name in servers} == {"server"}


def test_events_equal_the_tables(result: sj.Result, written: list[Path]) -> None:
    for path in written:
        _, *events = records(path)
        segments, acks, losses, senders = (own(result, table, path) for table in WHOLE)
        sent = data(events, "transport:packet_sent")
        assert [one["header"]["packet_number"] for one in sent] == list(range(segments.height))
        assert [one["raw"]["payload_length"] for one in sent] == segments["payload"].to_list()
        streams = [frame for one in sent for frame in one["frames"]]
        with_data = segments.filter((pl.col("payload") > 0) | (pl.col("flags") & 2 > 0))
        assert [frame["offset"] + 1 for frame in streams] == with_data["seq"].to_list()
        assert len(data(events, "transport:packet_received")) == acks.height
        assert len(data(events, "recovery:packet_lost")) == losses.filter(pl.col("loss") < 2).height
        updates = data(events, "recovery:metrics_updated")
        last = senders.row(-1, named=True)
        known = {key: value for update in updates for key, value in update.items()}
        assert known["packets_in_flight"] == last["in_flight"]
        assert known["congestion_window"] == last["cwnd"] * last["mss"]
        assert known.get("smoothed_rtt", 0.0) == last["srtt_ms"]
        states = data(events, "recovery:congestion_state_updated")
        assert all(one["old"] == before["new"] for before, one in pairwise(states))
        expired = [one for one in data(events, "recovery:loss_timer_updated") if one["event_type"] == "expired"]
        assert len(expired) == senders.filter(pl.col("expired") > 0).height


def test_acknowledged_packets_add_up_to_the_acknowledged_data(result: sj.Result, written: list[Path]) -> None:
    """Each packet is acknowledged at most once, and the acknowledged data ends at the last sequence number."""
    lossy = 0
    for path in written:
        _, *events = records(path)
        frames = {one["header"]["packet_number"]: one["frames"] for one in data(events, "transport:packet_sent")}
        acked = [
            number
            for one in data(events, "transport:packet_received")
            for frame in one["frames"]
            for start, end in frame["acked_ranges"]
            for number in range(start, end + 1)
        ]
        assert len(acked) == len(set(acked))
        una = own(result, "senders", path)["una"].max()
        covered = sorted((f["offset"], f["offset"] + f["length"]) for number in acked for f in frames[number])
        reach = 0
        for start, end in covered:
            if start <= reach:
                reach = max(reach, end)
        fin = any(f.get("fin") for number in acked for f in frames[number])
        # SACKed data above a hole extends further.
        assert isinstance(una, int)
        assert reach >= una - 1 - fin
        assert (own(result, "acks", path)["ack"].max() or 0) == una
        lossy += bool(data(events, "recovery:packet_lost"))
    assert lossy >= 2


def segment(time_ms: int, seq: int, *, again: int = 0, payload: int = 100, flags: int = 4) -> dict[str, Any]:
    size = {"payload": payload, "ip_bytes": payload + 52}
    return {"time_ns": time_ms * 10**6, "seq": seq, **size, "flags": flags, "ecn": 0, "again": again}


def ack(time_ms: int, number: int, *blocks: tuple[int, int]) -> dict[str, Any]:
    row = {"time_ns": time_ms * 10**6, "ack": number, "flags": 4, "ip_bytes": 52}
    for place in range(3):
        start, end = blocks[place] if place < len(blocks) else (0, 0)
        row |= {f"sack{place + 1}_from": start, f"sack{place + 1}_to": end}
    return row


def lost(time_ms: int, seq: int, kind: int) -> dict[str, Any]:
    return {"time_ns": time_ms * 10**6, "seq": seq, "seq_end": seq + 100, "loss": kind}


def test_packet_numbers_by_hand() -> None:
    """Four segments; the second is lost, and so is its first retransmission; the fourth is SACKed first."""
    trace = Trace()
    reported = [
        json.loads(text[1:])
        for happened in (
            SenderEvent(segments=[segment(0, 1), segment(0, 101), segment(0, 201), segment(0, 301)]),
            SenderEvent(acks=[ack(10, 101)]),
            SenderEvent(
                acks=[ack(11, 101, (301, 401))], losses=[lost(11, 101, 0)], segments=[segment(11, 101, again=1)]
            ),
            SenderEvent(acks=[ack(12, 101, (201, 401))]),
            SenderEvent(
                acks=[ack(30, 101, (201, 401))], losses=[lost(30, 101, 1)], segments=[segment(30, 101, again=1)]
            ),
            SenderEvent(acks=[ack(40, 401)]),
        )
        for text in trace.records(happened)
    ]
    short = [
        (
            one["name"].partition(":")[2],
            one["data"]["header"]["packet_number"],
            [frame["acked_ranges"] for frame in one["data"]["frames"] if frame["frame_type"] == "ack"],
        )
        for one in reported
    ]
    assert short == [
        *(("packet_sent", number, []) for number in range(4)),
        ("packet_received", 0, [[[0, 0]]]),
        ("packet_received", 1, [[[3, 3]]]),
        ("packet_lost", 1, []),
        ("packet_sent", 4, []),
        ("packet_received", 2, [[[2, 2]]]),
        ("packet_received", 3, []),
        ("packet_lost", 4, []),
        ("packet_sent", 5, []),
        ("packet_received", 4, [[[5, 5]]]),
    ]
    assert reported[5]["tcp"] == {"ack": 101, "flags": ["ack"], "sack": [[301, 401]]}
    assert reported[7]["data"]["trigger"] == "retransmit_reordered"


def test_losses_that_were_none_are_acknowledged_with_their_data() -> None:
    trace = Trace()
    for happened in (
        SenderEvent(segments=[segment(0, 1), segment(0, 101)]),
        SenderEvent(losses=[lost(9, 1, 0), lost(9, 101, 0)], segments=[segment(9, 1, again=1)]),
        SenderEvent(losses=[lost(10, 1, 2)]),
    ):
        list(trace.records(happened))
    [text] = trace.records(SenderEvent(acks=[ack(11, 201)]))
    assert json.loads(text[1:])["data"]["frames"] == [{"frame_type": "ack", "acked_ranges": [[0, 2]]}]


def test_parts_of_the_tables_give_the_same_files(
    result: sj.Result, written: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any number of rows in memory, and any number of appends."""
    shares: list[float] = []
    for rows, kept in ((1, 1 << 30), (61, 500)):
        monkeypatch.setattr(files, "ROWS", rows)
        monkeypatch.setattr(files, "BUFFER_CHARS", kept)
        again = write(result.at("forward"), tmp_path, name=str(rows), progress=lambda share, *_: shares.append(share))
        assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] <= 1


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    path = tmp_path / "lossy.toml"
    path.write_text(LOSSY)
    return path


def test_the_command_enables_the_probe_and_replaces_its_files(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    found = printed_json(cli("run", lossy, "--qlog", "q", "--json"))
    folder = tmp_path / "q" / Path(found["folder"]).name
    assert [Path(path) for path in found["qlog"]] == [
        Path("q") / folder.name / name for name in sorted(entries(folder), key=_number)
    ]
    assert sj.load(Path(found["folder"])).scenario.document["probes"]["senders"] is True
    # Other files in the folder of all runs are kept; files in this run's folder are from an earlier run.
    (tmp_path / "q" / "mine").write_text("kept")
    (folder / "flow-0.sqlog").write_text("old")
    (folder / "flow-999.sqlog").write_text("old")
    message = cli("run", lossy, "--qlog", "q")
    assert message.exit_code == 0, message.output
    assert f"qlog: q/{folder.name}, {len(found['qlog'])} senders" in message.output
    assert entries(folder) == {Path(path).name for path in found["qlog"]}
    assert records(folder / "flow-0.sqlog")
    assert entries(tmp_path / "q") == {"mine", folder.name}


def _number(name: str) -> tuple[int, bool]:
    return int(name.split(".")[0].split("-")[1]), "sink" in name


def test_without_it_nothing_of_a_run_changes(cli: Cli, lossy: Path) -> None:
    plain = printed_json(cli("run", lossy, "--json"))
    with_qlog = printed_json(cli("run", lossy, "--qlog", "q", "--json"))
    assert plain["folder"] != with_qlog["folder"]
    assert "qlog" not in plain
    assert plain["summary"]["fingerprint"] == with_qlog["summary"]["fingerprint"]
    assert not {"segments.parquet", "senders.parquet"} & entries(Path(plain["folder"]))


def test_a_run_without_senders_has_none(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "udp.toml"
    path.write_text('duration = "1 s"\n[link]\nrate = "1 Mbit/s"\n[[flows]]\nkind = "cbr"\nrate = "100 kbit/s"\n')
    refused = cli("run", path, "--qlog", "q")
    assert refused.exit_code == 2
    assert "no TCP sender has sent anything; give it TCP flows, or a longer duration" in refused.stderr
    assert not (tmp_path / "q").exists()


def test_another_engine_is_refused(cli: Cli, lossy: Path) -> None:
    refused = cli("run", lossy, "--qlog", "q", "--engine", "ns2")
    assert refused.exit_code == 2
    assert "--qlog: the engine ns2 does not record senders; leave it out, or simulate" in refused.stderr


def test_an_unwritable_place_is_reported_before_the_run(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = cli("run", lossy, "--qlog", "file")
    assert (refused.exit_code, "Not a folder" in refused.stderr) == (3, True)
    assert not (tmp_path / "results").exists()
    (tmp_path / "closed").mkdir(mode=0o500)
    if os.access(tmp_path / "closed", os.W_OK):
        pytest.skip("whoever runs this may write anywhere")
    refused = cli("run", lossy, "--qlog", "closed/q")
    assert (refused.exit_code, "Permission denied" in refused.stderr) == (3, True)
    assert not (tmp_path / "results").exists()
