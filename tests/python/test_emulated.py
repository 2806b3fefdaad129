"""Results of emulated links: real programs, with the tables, figures and replays of a simulation."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli, Process
from shells import needs_shells
from sojourn.studies.runs.store import load

pytestmark = needs_shells

SIZE = 2_000_000
FETCH = """
import os, socket, sys
with socket.create_connection((os.environ["SOJOURN_HOST"], int(sys.argv[1])), timeout=30) as peer:
    got = 0
    while part := peer.recv(1 << 16):
        got += len(part)
sys.exit(got != int(sys.argv[2]))
"""


SEND = """
import os, socket, sys
with socket.create_connection((os.environ["SOJOURN_HOST"], int(sys.argv[1]))) as peer:
    peer.sendall(bytes(int(sys.argv[2])))
    peer.shutdown(socket.SHUT_WR)
    peer.recv(1)
"""
"""Sends bytes to the server, and waits until it has read them."""


@pytest.fixture
def server() -> Iterator[int]:
    """Port of a server that sends `SIZE` bytes on each connection."""
    with socket.create_server(("", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                with peer:
                    peer.sendall(bytes(SIZE))

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def fetch(process: Process, server: int, *options: str) -> None:
    """Fetch `SIZE` bytes over a link with these options; its log is the folder `emulated`."""
    command = [sys.executable, "-c", FETCH, str(server), str(SIZE)]
    done = process("link", *options, "--log", "emulated", "--", *command)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("aqm", ["codel", "fq_codel", "pie"])
def test_a_log_becomes_a_result_and_replays_exactly(
    process: Process, cli: Cli, server: int, tmp_path: Path, aqm: str
) -> None:
    fetch(process, server, "--rate", "20mbit", "--aqm", aqm, "--limit", "60 packets", "--seed", "3")
    result = load(tmp_path / "emulated")
    links = result.totals["emulation"]["links"]
    for link in links.values():
        assert link["agreeing"] == link["replayed"] > 0
    down = result.packets.filter(pl.col("link") == "down")
    assert down.height >= links["down"]["replayed"] - 1
    assert down.filter(pl.col("fate") == "sent")["bytes"].sum() > SIZE
    assert (result.engine, result.seed, result.scenario.document["flows"]) == ("emulate", 3, [])
    assert result.totals["links"]["forward"]["utilisation"] > 0
    # The same by the command, which also computes the link's dequeue times.
    replayed = cli("aqm", "diff", aqm, "--log", "emulated", "--json")
    assert replayed.exit_code == 0, replayed.output
    assert json.loads(replayed.stdout)["agreeing"] == json.loads(replayed.stdout)["packets"] > 1000


def test_an_upload_is_shown_beside_the_idle_way_back(process: Process, cli: Cli, tmp_path: Path) -> None:
    """Upload by a shell's command; the summary, figures and outcomes of its link have both directions."""
    with socket.create_server(("", 0)) as listener:

        def take() -> None:
            peer, _ = listener.accept()
            with peer:
                while peer.recv(1 << 16):
                    pass

        threading.Thread(target=take, daemon=True).start()
        command = [sys.executable, "-c", SEND, str(listener.getsockname()[1]), str(SIZE)]
        options = (
            "--up",
            "7mbit",
            "--down",
            "23mbit",
            "--aqm-up",
            "pie",
            "--aqm-down",
            "codel",
            "--limit",
            "11 packets",  # HyStart does not end slow start below 16 segments
        )
        done = process("link", *options, "--log", "emulated", "--", *command)
        assert done.returncode == 0, done.stderr
    result = load(tmp_path / "emulated")
    shell = json.loads((tmp_path / "emulated" / "shell.json").read_text())
    assert result.link_names == ["down", "up"]
    rows = {row["link"]: row for row in result.summary.to_dicts()}
    assert [rows[side]["aqm"] for side in rows] == ["codel", "pie"]
    for side, row in rows.items():
        assert row["arrived"] == shell[side]["arrived"]["packets"]
        assert row["dropped"] == shell[side]["dropped"]
        assert result.at(side).summary.to_dicts() == [row]
    assert rows["up"]["sojourn_mean_ms"] > 2 > rows["down"]["sojourn_mean_ms"]
    assert rows["up"]["dropped"] > 0 == rows["down"]["dropped"]
    assert rows["up"]["goodput_bps"] == pytest.approx(8 * SIZE / result.duration_s, rel=0.02)
    assert rows["down"]["goodput_bps"] < 1000
    assert set(result.packets["link"].unique()) == {"down", "up"} == set(result.totals["emulation"]["links"])
    assert result.at("reverse").link == "up", "as before"
    assert cli("plot", "cdf", "emulated", "-o", "cdf.csv").exit_code == 0
    drawn = pl.read_csv(tmp_path / "cdf.csv")
    assert drawn["series"].unique(maintain_order=True).to_list() == ["codel, down", "pie, up"]
    medians = {name[0]: table["sojourn_time_ms"].median() for name, table in drawn.group_by("series")}
    assert medians["pie, up"] > 2 > medians["codel, down"]
    assert cli("plot", "cdf", "emulated", "--link", "up", "-o", "up.csv").exit_code == 0
    assert pl.read_csv(tmp_path / "up.csv")["series"].unique().to_list() == ["pie"]
    named = cli("plot", "timeseries", "emulated", "--link", "upp")
    assert (named.exit_code, named.stderr) == (2, 'Error: link "upp" is unknown; did you mean "up"?\n')
    reported = cli("qoo", "emulated", "--json")
    assert reported.exit_code == 0, reported.output
    [web, *_] = json.loads(reported.stdout)["outcomes"]
    assert web["loss"]["share"] == pytest.approx(rows["up"]["dropped"] / rows["up"]["arrived"])
    assert web["latency"][0]["rtt_ms"] == pytest.approx(result.at("up").sojourn_ms(0.95), rel=0.1)
    assert cli("qoo", "emulated", "--flows", "1").exit_code == 2
    diff = cli("aqm", "diff", "pie", "--log", "emulated", "--json")
    assert diff.exit_code == 0, diff.output
    assert json.loads(diff.stdout)["agreeing"] == json.loads(diff.stdout)["packets"] == rows["up"]["arrived"]
    for kind, remedy in (("pacing", "sojourn link --pcap"), ("ellipse", "--over seeds")):
        refused = cli("plot", kind, "emulated")
        assert refused.exit_code == 2
        assert remedy in refused.stderr


def test_a_direction_without_a_packet_is_named_and_not_drawn(process: Process, cli: Cli, tmp_path: Path) -> None:
    code = """
import os, socket, sys
sender = socket.socket(type=socket.SOCK_DGRAM)
for _ in range(9):
    sender.sendto(bytes(999), (os.environ["SOJOURN_HOST"], int(sys.argv[1])))
"""
    with socket.socket(type=socket.SOCK_DGRAM) as taker:  # so that no datagram causes an ICMP error
        taker.bind(("", 0))
        command = [sys.executable, "-c", code, str(taker.getsockname()[1])]
        done = process("link", "--rate", "3mbit", "--log", "emulated", "--", *command)
    assert done.returncode == 0, done.stderr
    result = load(tmp_path / "emulated")
    assert result.links["arrived"].to_list() == [0, 9]
    assert cli("plot", "timeseries", "emulated", "-o", "drawn.svg").exit_code == 0
    assert "no packets: down" in (tmp_path / "drawn.svg").read_text()
    assert result.summary["link"].to_list() == ["down", "up"]


def test_figures_are_drawn_of_an_emulated_run(process: Process, cli: Cli, server: int, tmp_path: Path) -> None:
    fetch(process, server, "--down", "30mbit@0s,10mbit@300ms", "--up", "10mbit", "--aqm", "codel")
    for kind in ("timeseries", "cdf", "ccdf", "box", "state", "utilisation", "rates", "drops", "bytes"):
        drawn = cli("plot", kind, "emulated", "-o", f"{kind}.png")
        assert drawn.exit_code == 0, f"{kind}: {drawn.output}"
        assert (tmp_path / f"{kind}.png").stat().st_size > 5000
    converted = cli("log", "convert", "emulated", "down.log")
    assert converted.exit_code == 0, converted.output
    assert cli("plot", "timeseries", "down.log", "-o", "log.png").exit_code == 0


def test_packets_of_a_rate_are_a_transmission_time_apart(process: Process, server: int, tmp_path: Path) -> None:
    fetch(process, server, "--rate", "1gbit")
    result = load(tmp_path / "emulated")
    sent = result.table("packets").filter((pl.col("link") == 0) & (pl.col("bytes") == 1500) & (pl.col("fate") == 0))
    # If a full packet was queued, the previous one took 12 us, independent of batching.
    waited = sent.filter((pl.col("sojourn_ns") > 12_000) & (pl.col("arrival").diff() == 1))
    gaps = sent.with_columns(gap=pl.col("time_ns").diff()).join(waited, on="arrival", how="semi")["gap"]
    assert len(gaps) > 50
    assert gaps.unique().to_list() == [12_000]


def test_a_shell_without_a_link_has_no_result(process: Process, tmp_path: Path) -> None:
    done = process("delay", "1ms", "--log", "emulated", "--", "true")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "emulated").iterdir()) == [
        "down.records",
        "shell.json",
        "up.records",
    ]
