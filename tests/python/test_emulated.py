"""Results of emulated links: real programs, then the tables, figures and replays of a simulation."""

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
from sojourn.runs.store import load

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


@pytest.fixture
def server() -> Iterator[int]:
    """Port of a server that sends `SIZE` bytes to whoever connects."""
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
    """Fetch `SIZE` bytes behind a link with these options; its log goes to the folder `emulated`."""
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
    forward = result.packets.filter(pl.col("link") == "forward")
    assert forward.height >= links["forward"]["replayed"] - 1
    assert forward.filter(pl.col("fate") == "sent")["bytes"].sum() > SIZE
    assert (result.engine, result.seed, result.scenario.document["flows"]) == ("emulate", 3, [])
    assert result.totals["links"]["forward"]["utilisation"] > 0
    # The same once more by the command, which computes also when the link takes each packet.
    replayed = cli("aqm", "diff", aqm, "--log", "emulated", "--json")
    assert replayed.exit_code == 0, replayed.output
    assert json.loads(replayed.stdout)["agreeing"] == json.loads(replayed.stdout)["packets"] > 1000


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
    # Where a full packet waited, the one before it took its 12 us, however they were read and written.
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
