"""One-sided RTT compared with that between two taps: in simulated captures, and, with tcpdump, in real ones."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import sojourn as sj
from conftest import Cli, printed_json
from shells import needs_shells
from sojourn.io.pcap.capture import Capture, load_capture
from sojourn.io.pcap.export import export
from sojourn.io.pcap.rtt import rtt
from sojourn.io.pcap.sender import sender_rtt, without_delayed_acks

LINES = {
    "cubic": ("5.3 Mbit/s", "1.1 Mbit/s", 17, "codel", "1000 packets", "0%", 2),
    "reno": ("2.7 Mbit/s", "0.9 Mbit/s", 23, "droptail", "31 packets", "0%", 3),
    "bbr": ("23 Mbit/s", "3 Mbit/s", 31, "fq_codel", "1000 packets", "0%", 2),
    "illinois": ("7.9 Mbit/s", "2 Mbit/s", 13, "pie", "1000 packets", "1%", 1),
}


def _quantiles(samples: pl.DataFrame, add_ms: float = 0.0) -> list[float]:
    return [float(samples["rtt_ns"].quantile(q, "nearest") or 0) / 1e6 + add_ms for q in (0.5, 0.95)]


def _one_sided(capture: Capture) -> pl.DataFrame:
    return without_delayed_acks(sender_rtt(capture.packets, capture.blocks))


@pytest.mark.parametrize("cc", LINES)
def test_from_one_side_it_is_the_two_sided_one(tmp_path: Path, cc: str) -> None:
    """At the senders, and between two taps around the queues; both measure the RTT without the propagation delay.

    That is constant and before the taps, and part of a sender's RTT, so it is added to both.
    """
    rate, back, rtt_ms, aqm, limit, loss, count = LINES[cc]
    text = f"""
duration = "13 s"
warmup = "1 s"
link = {{ rate = "{rate}", aqm = "{aqm}", limit = "{limit}", loss = "{loss}" }}
reverse = {{ rate = "{back}" }}
flows = [{{ kind = "tcp", count = {count}, cc = "{cc}", spread = "1 s", rtt = "{rtt_ms} ms" }}]
probes = {{ packets = true, headers = true }}
"""
    result = sj.Scenario.parse(text, {}).run(7)
    taps = []
    for side in ("in", "out"):
        export(result, tmp_path / f"{side}.pcapng", side=side, link="both")
        taps.append(load_capture(tmp_path / f"{side}.pcapng"))
    between = rtt(taps[0].packets, taps[1].packets)
    transmission_ms = 8 * 1500 / (float(rate.split()[0]) * 1e3)
    two = _quantiles(between, rtt_ms + transmission_ms)
    one = _one_sided(taps[0])
    assert one.height > 0.7 * between.height
    assert _quantiles(one, rtt_ms) == pytest.approx(two, rel=0.05)
    plain = sender_rtt(taps[0].packets)
    assert plain.height <= sender_rtt(taps[0].packets, taps[0].blocks).height


def test_lone_segments_are_distinguished(cli: Cli, tmp_path: Path) -> None:
    """Responses 150 ms apart get delayed ACKs; the segments of a concurrent transfer do not."""
    text = """
duration = "9 s"
link = { rate = "6.1 Mbit/s" }
flows = [
  { kind = "request", size = "800 B", gap = "150 ms", rtt = "19 ms" },
  { kind = "tcp", rtt = "19 ms", size = "20 kB", pause = "210 ms" },
]
probes = { packets = true, headers = true }
"""
    export(sj.Scenario.parse(text, {}).run(3), tmp_path / "a.pcapng", side="in", link="both")
    capture = load_capture(tmp_path / "a.pcapng")
    every = sender_rtt(capture.packets, capture.blocks)
    alone = every.filter(pl.col("delayed").all().over("flow"))
    assert alone.height > 30 and alone["rtt_ns"].median() > 40e6, "answers"
    assert every.filter(~pl.col("delayed"))["rtt_ns"].max() < 25e6, "the transfers"
    reported = printed_json(cli("pcap", "rtt", "a.pcapng", "--json"))
    shown = cli("pcap", "rtt", "a.pcapng")
    assert (reported["delayed"] > 0) == ("more samples may include a delayed" in shown.output)


SENDER = """
import socket, sys, time
peer, end = socket.create_connection((sys.argv[1], 5301)), time.time() + 4
while time.time() < end:
    peer.send(bytes(100000))
"""
SINK = """
import socket
peer = socket.create_server(("", 5301)).accept()[0]
while peer.recv(1 << 20):
    pass
"""


@needs_shells
def test_real_captures(tmp_path: Path) -> None:
    """Real TCP over our emulator, with tcpdump at both ends; without super-packets, so that both captures are equal."""
    if shutil.which("tcpdump") is None or shutil.which("ethtool") is None:
        pytest.skip("tcpdump and ethtool are not installed")
    (tmp_path / "send.py").write_text(SENDER)
    (tmp_path / "sink.py").write_text(SINK)
    tap = "ethtool -K {0} tso off gso off gro off; tcpdump -Z root -i {0} -s 96 -U -w {1} tcp & T=$!; sleep 1; "
    off = "; sleep 0.5; kill -INT $T; wait $T"
    inside = tap.format("sojourn", "a.pcap") + f"{sys.executable} send.py $SOJOURN_HOST" + off
    outside = tap.format("sojourn0", "b.pcap") + f"{sys.executable} sink.py" + off
    command = [sys.executable, "-m", "sojourn", "link", "--rate", "9.3mbit", "--aqm", "codel", "--netem", "delay 13ms"]
    done = subprocess.run(
        [*command, "--quiet", "--peer", outside, "--", "bash", "-c", inside],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode or not (tmp_path / "b.pcap").exists():
        pytest.skip(f"no capture can be made here: {done.stderr[-200:]}")
    taps = [load_capture(tmp_path / name) for name in ("a.pcap", "b.pcap")]
    one, two = _one_sided(taps[0]), rtt(taps[0].packets, taps[1].packets)
    assert one.height > 1000
    assert _quantiles(one) == pytest.approx(_quantiles(two), rel=0.05)
