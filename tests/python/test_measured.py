"""Measured logs of iperf3, irtt, ping and cake-autorate: as data of Flent, in figures, fits and traces."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from conftest import Cli, printed_json
from sojourn.base.errors import InputError
from sojourn.io.flent.files import FlentData
from sojourn.io.measured import autorate
from sojourn.io.measured.files import FORMATS, is_measured, load_measured
from sojourn.io.measured.traces import delay_trace, rate_trace


def iperf3(seconds: int = 12, streams: int = 1, *, reverse: bool = False, **more: Any) -> str:
    """Output of `iperf3 -J -O 1`: the first interval is omitted."""

    def stream(at: int, index: int, *, omitted: bool) -> dict[str, Any]:
        rate = (20 + at % 3 + index) * 1e6
        return {
            "socket": 5 + 2 * index,
            "start": at,
            "end": at + 1.00002,
            "seconds": 1.00002,
            "bytes": int(rate / 8),
            "bits_per_second": rate,
            "omitted": omitted,
            "sender": not reverse,
            **({} if reverse else {"retransmits": 0, "snd_cwnd": 85_000, "rtt": 31_000 + 500 * at, "rttvar": 900}),
        }

    steps = [(0, True), *((at, False) for at in range(seconds))]
    return json.dumps(
        {
            "start": {
                "connected": [{"socket": 5, "local_host": "192.0.2.1", "remote_port": 5201}],
                "version": "iperf 3.12",
                "timestamp": {"time": "Sat, 31 Jan 2026 12:00:00 GMT", "timesecs": 1769860800},
                "test_start": {"protocol": "TCP", "num_streams": streams, "reverse": int(reverse)},
            },
            "intervals": [
                {"streams": [stream(at, index, omitted=omitted) for index in range(streams)], "sum": {}}
                for at, omitted in steps
            ],
            "end": {},
            **more,
        }
    )


def irtt(count: int = 60, *, offset_ns: int = 0) -> str:
    trips = []
    for at in range(count):
        sent = 5_000_000_000 + at * 200_000_000
        trip: dict[str, Any] = {
            "seqno": at,
            "lost": "false",
            "timestamps": {"client": {"send": {"wall": 1_700_000_000_000_000_000 + at, "monotonic": sent}}},
            "delay": {"rtt": 44_000_000 + at * 1000, "send": 24_000_000 + offset_ns, "receive": 20_000_000 - offset_ns},
        }
        if at == 7:
            trip |= {"lost": "true_down", "delay": {}}
        trips.append(trip)
    return json.dumps({"version": {"irtt": "0.9.1", "protocol": 1, "json_format": 1}, "round_trips": trips})


PING = """PING one.example (192.0.2.7) 56(84) bytes of data.
64 bytes from one.example (192.0.2.7): icmp_seq=1 ttl=57 time=21.4 ms
64 bytes from one.example (192.0.2.7): icmp_seq=2 ttl=57 time=20.9 ms
no answer yet for icmp_seq=3
64 bytes from one.example (192.0.2.7): icmp_seq=4 ttl=57 time=35 ms
64 bytes from one.example (192.0.2.7): icmp_seq=4 ttl=57 time=36 ms (DUP!)
From 192.0.2.1 icmp_seq=5 Destination Host Unreachable
64 bytes from one.example (192.0.2.7): icmp_seq=6 ttl=57 time=22.0 ms

--- one.example ping statistics ---
6 packets transmitted, 4 received, +1 duplicates, 33.3333% packet loss, time 1000ms
rtt min/avg/max/mdev = 20.912/24.8/35.0/5.9 ms
"""
STAMPED = """PING 192.0.2.7 (192.0.2.7) 56(84) bytes of data.
[1769860800.021400] 64 bytes from 192.0.2.7: icmp_seq=1 ttl=57 time=21.4 ms
[1769860800.320900] 64 bytes from 192.0.2.7: icmp_seq=2 ttl=57 time=20.9 ms
[1769860801.035000] 64 bytes from 192.0.2.7: icmp_seq=3 ttl=57 time=35.0 ms
"""
HEADER = (
    "DATA_HEADER; LOG_DATETIME; LOG_TIMESTAMP; PROC_TIME_US; DL_ACHIEVED_RATE_KBPS; UL_ACHIEVED_RATE_KBPS; REFLECTOR; "
    "SEQUENCE; DL_OWD_US; UL_OWD_US; CAKE_DL_RATE_KBPS; CAKE_UL_RATE_KBPS\n"
)


def controller(rows: int = 300) -> str:
    """A log of cake-autorate with two reflectors, whose clocks differ from ours."""
    lines = ["DEBUG; 2026-01-31-12:00:00; 1769860800.000001; Starting cake-autorate\n", HEADER]
    for at in range(rows):
        time = 1_769_860_800_000_000 + 50_000 * at
        host, skew = ("192.0.2.7", 5_000_000) if at % 2 else ("192.0.2.8", -70)
        rates = (18_000 + 10 * at, 900 + at, 20_000 + 100 * (at // 50), 5000)
        lines.append(
            f"DATA; 2026-01-31-12:00:00; {time / 1e6:.6f}; {time / 1e6:.6f}; {rates[0]}; {rates[1]}; {host}; {at}; "
            f"{12_000 + skew + at}; {11_000 - skew}; {rates[2]}; {rates[3]}\n"
        )
    return "".join(lines)


GNETTRACK = """Timestamp,Longitude,Latitude,Speed,Operatorname,CellID,Mode,RSRP,CQI,DL_bitrate,UL_bitrate,State,PINGAVG
2026.01.31_12.00.00,-8.4,51.9,3,A,2,LTE,-95,9,4210,61,D,41.5
2026.01.31_12.00.01,-8.4,51.9,3,A,2,LTE,-95,-,0,-,D,-
2026.01.31_12.00.01,-8.4,51.9,3,A,2,LTE,-95,9,5100,70,D,-
2026.01.31_12.00.04,-8.4,51.9,3,A,2,5G,-95,9,88000.5,900,D,33
"""


def read(tmp_path: Path, text: str | bytes) -> tuple[FlentData, tuple[str, ...]]:
    file = tmp_path / "log"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert is_measured(file)
    return load_measured(file)


def test_iperf3(tmp_path: Path) -> None:
    data, notes = read(tmp_path, iperf3())
    assert list(data.results) == ["TCP upload", "TCP upload::tcp_rtt"] and notes == ()
    times, values = data.steps("TCP upload")
    assert times.tolist() == list(range(12)) and values[:4].tolist() == [20, 21, 22, 20]
    assert data.steps("TCP upload::tcp_rtt")[1][2] == 32
    assert data.unit("TCP upload") == "Mbit/s" and data.unit("TCP upload::tcp_rtt") == "ms"
    assert data.start_s == 1769860800 and data.traffic_s == (0, pytest.approx(12, abs=0.01))


def test_streams_and_directions_of_iperf3(tmp_path: Path) -> None:
    data, _ = read(tmp_path, iperf3(streams=3, reverse=True))
    assert list(data.results) == [f"TCP download::{at}" for at in (1, 2, 3)]
    old = iperf3(reverse=True).replace('"sender": false', '"seen": 0')
    assert "TCP download" in read(tmp_path, old)[0].results
    both = json.loads(iperf3(streams=2))
    for interval in both["intervals"]:
        interval["streams"][1]["sender"] = False
    assert set(read(tmp_path, json.dumps(both))[0].results) >= {"TCP upload", "TCP download"}
    datagrams = iperf3(reverse=True).replace('"TCP"', '"UDP"')
    assert list(read(tmp_path, datagrams)[0].results) == ["UDP download"]


def test_the_stream_of_events_of_iperf3_is_the_same(tmp_path: Path) -> None:
    whole = json.loads(iperf3())
    events = [{"event": "start", "data": whole["start"]}]
    events += [{"event": "interval", "data": one} for one in whole["intervals"]] + [{"event": "end", "data": {}}]
    data, _ = read(tmp_path, "\n".join(map(json.dumps, events)) + "\n")
    assert data == read(tmp_path, iperf3())[0]
    data, notes = read(tmp_path, iperf3(error="control socket has closed unexpectedly"))
    assert notes == ("iperf3 ended with an error: control socket has closed unexpectedly",)


def test_irtt(tmp_path: Path) -> None:
    for text in (irtt(), gzip.compress(irtt().encode())):
        data, notes = read(tmp_path, text)
        assert list(data.results) == ["Ping (ms) irtt", "One-way download (ms)", "One-way upload (ms)"]
        times, values = data.samples("Ping (ms) irtt")
        assert len(times) == 59 and times[7] == pytest.approx(1.6) and values[7] == pytest.approx(44.008)
        assert notes == ("1 of 60 packets were lost",)
    data, notes = read(tmp_path, irtt(offset_ns=30_000_000))
    assert list(data.results) == ["Ping (ms) irtt", "One-way upload (ms)"]
    assert notes[1] == "One-way download (ms): negative, because the clocks differ; left out"


def test_ping(tmp_path: Path) -> None:
    data, notes = read(tmp_path, PING)
    times, values = data.samples("Ping (ms) ICMP")
    # Six packets in a second.
    assert times.tolist() == pytest.approx([0, 0.2, 0.6, 1.0]) and values.tolist() == [21.4, 20.9, 35, 22]
    assert notes == ("1 repeated replies are left out", "2 of 6 pings have no reply")
    data, notes = read(tmp_path, STAMPED.replace("\n", "\r\n"))
    times, values = data.samples("Ping (ms) ICMP")
    assert times.tolist() == pytest.approx([0, 0.3, 1.0], abs=1e-6) and notes == ()
    assert data.start_s == pytest.approx(1769860800, abs=1e-3)


@pytest.mark.parametrize(
    ("reply", "ms"),
    [
        ("64 bytes from 192.0.2.7: seq={} ttl=57 time=12.345 ms", 12.345),
        ("64 bytes from 2001:db8::7: icmp_seq={} ttl=57 time=12.3 ms", 12.3),
        ("64 bytes from host (2001:db8::7%eth0): icmp_seq={} ttl=57 time=0,043 ms", 0.043),
        ("64 bytes from 192.0.2.7: icmp_seq={} ttl=57 time=1203 ms", 1203),
        ("64 bytes from 192.0.2.7: icmp_seq={} ttl=255 time<1 ms", 1),
        ("64 Bytes von 192.0.2.7: icmp_seq={} ttl=57 Zeit=20,5 ms", 20.5),
    ],
)
def test_replies_of_ping(tmp_path: Path, reply: str, ms: float) -> None:
    data, notes = read(tmp_path, "\n".join(reply.format(at) for at in range(3)))
    times, values = data.samples("Ping (ms) ICMP")
    assert times.tolist() == [0, 1, 2] and values.tolist() == [ms] * 3
    assert notes == ("1 s between pings is assumed; ping -D prints times",)


WINDOWS = """
Pinging 192.0.2.7 with 32 bytes of data:
Request timed out.
Reply from 192.0.2.7: bytes=32 time=14ms TTL=57
Reply from 192.0.2.7: bytes=32 time<1ms TTL=57
General failure.
Reply from 192.0.2.7: bytes=32 time=16ms TTL=57

Ping statistics for 192.0.2.7:
    Packets: Sent = 5, Received = 3, Lost = 2 (40% loss),
Approximate round trip times in milli-seconds:
    Minimum = 0ms, Maximum = 16ms, Average = 10ms
"""
IPV6 = WINDOWS.replace("192.0.2.7", "2001:db8::7").replace("bytes=32 ", "").replace(" TTL=57", " ")
FRENCH = WINDOWS.replace("Reply from 192.0.2.7: bytes", "Réponse de 192.0.2.7 : octets").replace("time", "temps")


@pytest.mark.parametrize("text", [WINDOWS, IPV6, FRENCH, WINDOWS.replace("\n", "\r\n")])
def test_ping_of_windows(tmp_path: Path, text: str) -> None:
    """A line per ping, without numbers, in the language of the system."""
    data, notes = read(tmp_path, text)
    times, values = data.samples("Ping (ms) ICMP")
    assert (times.tolist(), values.tolist()) == ([0, 1, 3], [14, 1, 16])
    assert notes[1] == "1 of 4 pings have no reply"
    with pytest.raises(InputError, match="several runs of ping in it; give one at a time"):
        read(tmp_path, text + text)


def test_two_runs_of_ping_are_not_mixed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="several runs of ping in it; give one at a time"):
        read(tmp_path, PING + PING)


def test_sequence_numbers_of_ping_wrap(tmp_path: Path) -> None:
    reply = "64 bytes from 192.0.2.7: icmp_seq={} ttl=57 time=9 ms"
    data, notes = read(tmp_path, "\n".join(reply.format(at % 65536) for at in range(65533, 65540)))
    assert data.samples("Ping (ms) ICMP")[0].tolist() == list(range(7)) and len(notes) == 1


def test_cake_autorate(tmp_path: Path) -> None:
    data, notes = read(tmp_path, controller())
    assert list(data.results) == [
        *("Interface download", "Interface upload", "Shaper download limit", "Shaper upload limit"),
        *("Ping (ms) 192.0.2.8", "Ping (ms) 192.0.2.7"),
    ]
    times, values = data.steps("Interface download")
    assert times[1] == pytest.approx(0.05) and values[:2].tolist() == [18, 18.01]
    # Both directions together are free of the reflector's clock.
    assert data.samples("Ping (ms) 192.0.2.7")[1][0] == pytest.approx(23.001)
    assert notes == () and data.traffic_s == (0, pytest.approx(14.95))


def test_versions_of_cake_autorate(tmp_path: Path) -> None:
    """Times are seconds, in whatever column; the first version has the RTT and another name of its header."""
    names = "LOG_DATETIME; LOG_TIMESTAMP; PROC_TIME_US; DL_ACHIEVED_RATE_KBPS; REFLECTOR; SEQUENCE; RTT_US"
    rows = [
        f"DATA; 2026-01-31-12:00:00; {time}; {time}; {rate}; 192.0.2.7; 1; {rate}"
        for time, rate in (("1769860800.250001", 9000), ("1769860801.750001", 8000))
    ]
    for header in ("HEADER", "DATA_HEADER"):
        data, _ = read(tmp_path, "\n".join([f"{header}; {names}", *rows]) + "\n")
        times, values = data.samples("Ping (ms) 192.0.2.7")
        assert (times[1] - times[0], values.tolist()) == (pytest.approx(1.5), [9, 8])
        assert data.steps("Interface download")[1].tolist() == [9, 8]
    whole = "\n".join([f"{header}; {names}", *rows]).replace("1769860800.250001", "1769860800250001") + "\n"
    data, _ = read(tmp_path, whole.replace("1769860801.750001", "1769860801750001"))
    assert data.steps("Interface download")[0][1] == pytest.approx(1.5)


def test_incomplete_rows_of_cake_autorate(tmp_path: Path) -> None:
    text = controller()
    cut = "DATA; 2026-01-31-11:59:59; 17698\n" + text[: len(text) - 40]
    data, notes = read(tmp_path, cut)
    assert notes == ("2 incomplete rows are left out",) and len(data.x_values) == 299
    load = HEADER.replace("DATA_HEADER", "LOAD_HEADER").split("REFLECTOR")[0] + "CAKE_DL_RATE_KBPS\n"
    data, _ = read(tmp_path, load + "LOAD; 2026-01-31-12:00:00; 1.0; 1000000; 7000; 800; 20000\n" * 2)
    assert data.steps("Interface download")[1].tolist() == [7]
    with pytest.raises(InputError, match="no DATA or LOAD rows in it; log them with output_processing_stats=1"):
        read(tmp_path, "DEBUG; 2026-01-31-12:00:00; 1.0; Starting\n")


def test_gnettrack(tmp_path: Path) -> None:
    for text in (GNETTRACK, "\ufeff" + GNETTRACK.replace(",", "\t"), GNETTRACK.replace("\n", "\r\n")):
        data, notes = read(tmp_path, text)
        times, values = data.steps("Interface download")
        assert times.tolist() == [0, 1, 4] and values.tolist() == pytest.approx([4.21, 5.1, 88.0005])
        assert data.samples("Ping (ms) ICMP")[0].tolist() == [0, 4] and notes == ()
    data, _ = read(tmp_path, GNETTRACK.replace("PINGAVG", "Other"))
    assert list(data.results) == ["Interface download", "Interface upload"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GNETTRACK.replace("12.00.04", "25.00.04"), "line 5: Timestamp: '2026.01.31_25.00.04' is no time"),
        (GNETTRACK.replace("12.00.04", "11.00.04"), "line 5: its time is before that of the row above"),
        (GNETTRACK.replace(",5100,", ",fast,"), "line 4: DL_bitrate: 'fast' is not a number"),
        (GNETTRACK.splitlines()[0] + "\n", "no measurement in it"),
        (iperf3(0), "no measurement in it"),
        (iperf3()[:-9], "not JSON"),
        (iperf3(error="unable to connect").replace('"intervals": [', '"intervals": [], "x": ['), "unable to connect"),
        (iperf3().replace('"bits_per_second": 21', '"bits_per_second": "fast", "x": 21'), "is not a number"),
        (iperf3().replace("21000000.0", "1e999"), "is not a number"),
        (iperf3().replace('"start": 3,', '"start": 1,'), "the interval at 1 s follows one at 2 s"),
        (iperf3().replace('"intervals": [', '"intervals": [5,'), "intervals[0]: no streams"),
        ('{"event": "start", "data": {}}\n{"event": "interv', "line 2: not JSON"),
        (irtt().replace('"monotonic": 5200000000', '"monotonic": 1'), "not in the order of sending"),
        (irtt().replace('"monotonic"', '"mono"'), "round_trips[0]: no monotonic"),
        (irtt().replace('"round_trips"', '"trips"'), "no round_trips"),
        (irtt(0), "no measurement in it"),
        ("PING 192.0.2.7 (192.0.2.7) 56(84) bytes of data.\n", "no reply with a time in it"),
        (controller().replace("; 18010; ", "; fast; "), "line 4: DL_ACHIEVED_RATE_KBPS: 'fast' is not a number"),
        (
            '{"version": {"irtt": "1", "json_format": 1}, "a": ' + "[" * 200 + "]" * 200 + "}",
            "nested more than 64 deep",
        ),
    ],
)
def test_damaged_logs_are_a_line(cli: Cli, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "log").write_text(text)
    ran = cli("flent", "show", "log")
    assert ran.exit_code == 2 and message in ran.output, ran.output
    assert ran.output.count("\n") == 1 and "log: " in ran.output


def test_too_many_measurements_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sojourn.io.measured.measurement.MAX_SAMPLES", 50)
    with pytest.raises(InputError, match="59 measurements, but at most 50 can be read"):
        read(
            tmp_path,
            irtt().replace("One-way", "x").replace('"send": 24', '"s": 24').replace('"receive": 20', '"r": 20'),
        )
    monkeypatch.setattr(autorate, "MAX_REFLECTORS", 1)
    with pytest.raises(InputError, match="line 4: more than 1 reflectors"):
        read(tmp_path, controller())


def test_other_files_are_no_logs(tmp_path: Path) -> None:
    file = tmp_path / "other"
    for text in (b"", b"\x1f\x8b\x00", b"\xff" * 9000, b'{"start": 1}', b"0 1\n", b"[" * 9000, b"DATA; x; y\n"):
        file.write_bytes(text)
        assert not is_measured(file)
    assert not is_measured(tmp_path)


LOGS = {"iperf.json": iperf3(), "starlink.json": irtt(), "ping.txt": STAMPED, "autorate.log": controller()}


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("timeseries", ["starlink.json", "ping.txt", "autorate.log"]),
        ("cdf", ["starlink.json", "autorate.log"]),
        ("rates", ["iperf.json", "autorate.log"]),
        ("rates", ["autorate.log"]),
        ("totals", list(LOGS)),
        ("box", ["autorate.log"]),
    ],
)
def test_logs_are_drawn(cli: Cli, tmp_path: Path, kind: str, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).write_text(LOGS[name])
    ran = cli("plot", kind, *names, "-o", "figure.csv")
    assert ran.exit_code == 0, ran.output
    assert (tmp_path / "figure.csv").read_text().count("\n") > 3
    if kind == "rates" and len(names) == 1:
        assert "download limit" in (tmp_path / "figure.csv").read_text()


def test_a_log_without_the_quantity_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "ping.txt").write_text(STAMPED)
    assert "no flows in it; draw timeseries of its pings" in cli("plot", "rates", "ping.txt").output
    assert "drops cannot be drawn from measurements" in cli("plot", "drops", "ping.txt").output
    assert "--link: measurements have no links" in cli("plot", "cdf", "ping.txt", "--link", "forward").output


def test_a_rate_trace_has_the_times_of_the_log(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(iperf3(streams=2, reverse=True))
    made = printed_json(cli("trace", "convert", "log", "-o", "rate.csv", "--json"))
    assert made == {"file": "rate.csv", "steps": 12}
    rows = (tmp_path / "rate.csv").read_text().splitlines()
    assert rows[:3] == ["time [s],rate [Mbit/s]", "0.000000,41.000000", "1.000000,43.000000"]
    assert cli("trace", "convert", "rate.csv", "-o", "rate.trace").exit_code == 0
    (tmp_path / "log").write_text(controller())
    ran = cli("trace", "convert", "log", "-o", "rate.csv")
    assert "choose one with --series: Interface download, Interface upload, Shaper download limit" in ran.output
    assert cli("trace", "convert", "log", "-o", "rate.csv", "--series", "Shaper download limit").exit_code == 0
    data = load_measured(tmp_path / "log")[0]
    assert rate_trace(data, "Interface upload").splitlines()[2] == "0.050000,0.901000"


def test_a_delay_trace_runs(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "ping.txt").write_text(STAMPED)
    ran = cli("trace", "convert", "ping.txt", "-o", "delay.txt", "--delay")
    assert "Trace: delay.txt, 3 steps" in ran.output
    assert (tmp_path / "delay.txt").read_text().splitlines() == [
        *("10.700000 ms@0 us", "10.450000 ms@300000 us", "17.500000 ms@1000000 us"),
    ]
    link = {"rate": "10 Mbit/s", "delay_trace": str(tmp_path / "delay.txt")}
    scenario = sj.Scenario.build({"duration": "2 s", "link": link, "flows": [{"kind": "cbr", "rate": "1 Mbit/s"}]})
    assert scenario.document["link"]["delay"] == "10.7 ms@0 s,10.45 ms@300 ms,17.5 ms@1 s"
    (tmp_path / "irtt.json").write_text(irtt())
    data = load_measured(tmp_path / "irtt.json")[0]
    assert delay_trace(data, "One-way upload (ms)").startswith("24.000000 ms@0 us\n24.000000 ms@200000 us\n")


def test_delays_in_columns(cli: Cli, tmp_path: Path) -> None:
    for text, units in [
        ("time [ms],delay [us]\n0,20000\n250.5,31000\n", ()),
        ("0 20000\n250.5 31000\n", ("--units", "ms,us")),
        ("# one way\n10; 20000\n260.5; 31000; x\n", ("--units", "ms,us")),
    ]:
        (tmp_path / "delay.csv").write_text(text)
        assert cli("trace", "convert", "delay.csv", "-o", "delay.txt", "--delay", *units).exit_code == 0
        assert (tmp_path / "delay.txt").read_text() == "20.000000 ms@0 us\n31.000000 ms@250500 us\n"


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        ("0,20\n1,30\n", (), "the header: no units of a time and a delay"),
        ("0,20\n1,30\n", ("--units", "s,Mbit/s"), "--units: no units of a time and a delay"),
        ("0,20\n1,fast\n", ("--units", "s,ms"), "line 2: not a time and a delay"),
        ("1,20\n0,30\n", ("--units", "s,ms"), "line 2: its time is before that of the row above"),
        ("0,-20\n1,30\n", ("--units", "s,ms"), "-20 ms is no delay"),
        ("time [s],delay [ms]\n", (), "no row in it"),
        ("", ("--units", "s,ms"), "no row in it"),
        ("0,20\n", ("--units", "s,ms", "--seed", "3"), "--seed: delay.csv is written at its own times"),
        ("0,20\n", ("--units", "s,ms", "--series", "x"), "--series: delay.csv is no log"),
    ],
)
def test_bad_columns_of_delays(cli: Cli, tmp_path: Path, text: str, given: tuple[str, ...], message: str) -> None:
    (tmp_path / "delay.csv").write_text(text)
    ran = cli("trace", "convert", "delay.csv", "-o", "delay.txt", "--delay", *given)
    assert ran.exit_code == 2 and message in ran.output and ran.output.count("\n") == 1, ran.output


def test_options_that_change_nothing_are_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "ping.txt").write_text(STAMPED)
    for given, message in [
        (("-o", "x.csv"), "it has no rates; use --delay"),
        (("-o", "x.trace"), "rates go into a .csv file"),
        (("-o", "x.csv", "--delay"), "rates go into a .csv file"),
        (("-o", "x.txt", "--delay", "--units", "s,ms"), "--units: ping.txt is a log with its own units"),
        (("-o", "x.txt", "--delay", "--series", "y"), "--series: no 'y' in it; expected one of: Ping (ms) ICMP"),
    ]:
        ran = cli("trace", "convert", "ping.txt", *given)
        assert ran.exit_code == 2 and message in ran.output, ran.output
    (tmp_path / "rates.csv").write_text("time [s],rate [Mbit/s]\n0,3\n1,2\n")
    assert "is no measured log" in cli("trace", "convert", "rates.csv", "-o", "x", "--series", "y").output


def test_a_log_is_explained(cli: Cli, tmp_path: Path) -> None:
    draw = np.random.default_rng(5)
    reply = "[{:.6f}] 64 bytes from 192.0.2.7: icmp_seq={} ttl=57 time={:.1f} ms"
    times = enumerate(40 + draw.exponential(1.0, 150))
    replies = [reply.format(1769860800 + at / 5, at, ms) for at, ms in times]
    (tmp_path / "ping.txt").write_text("\n".join(replies))
    (tmp_path / "idle.toml").write_text(
        'duration = "20 s"\nwarmup = "2 s"\nlink = { rate = "10 Mbit/s" }\n'
        'flows = [{ kind = "request", request = "64 B", size = "64 B", gap = "150 ms", rtt = "40 ms" }]\n'
        "probes = { transfers = true }\n"
    )
    ran = cli("fit", "idle.toml", "ping.txt", "--free", "flows.0.rtt=10..100 ms", "--json", "-o", "out")
    assert ran.exit_code in (0, 1), ran.output
    [key] = json.loads(ran.stdout)["keys"]
    assert key["key"] == "flows.0.rtt" and 38 < key["value"] < 43


def test_hostile_logs_make_one_line_or_data(tmp_path: Path) -> None:
    draw = random.Random(3)
    texts = [iperf3(4, 2), irtt(9), PING, STAMPED, controller(9), GNETTRACK]
    for _ in range(400):
        text = list(draw.choice(texts))
        for _ in range(draw.randrange(1, 9)):
            place = draw.randrange(len(text))
            text[place : place + draw.randrange(1, 9)] = draw.choice(
                ["", "\n", "0", "-", ";", '"', "[", "}", "9" * 30, "\x1b", "null", "٣", "e9", "true"]
            )
        whole = "".join(text)
        for one in FORMATS.values():
            if one.recognises(whole[:8192]):
                try:
                    data = one.read(whole).as_flent()
                except InputError as error:
                    assert "\n" not in str(error)
                except ValueError:
                    continue  # JSON that is none, which `load_measured` reports
                else:
                    assert data.results and data.traffic_s[1] >= 0
