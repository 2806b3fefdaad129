"""Super-packets in an emulated queue, and links with another MTU than Ethernet."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import sojourn as sj
from captures import lengths
from shells import needs_shells, python, shell

pytestmark = needs_shells

ME = [sys.executable, "-m", "sojourn"]
BYTES = 3_000_000
SEND = f"""
import os, socket, sys
peer = socket.create_connection((os.environ["SOJOURN_HOST"], int(sys.argv[1])))
peer.sendall(bytes({BYTES}))
peer.shutdown(socket.SHUT_WR)
assert peer.recv(100) == b"{BYTES}"
"""
MTU = """
import fcntl, socket, struct
request = struct.pack("16s16x", b"sojourn")
with socket.socket() as any_socket:
    print(struct.unpack_from("i", fcntl.ioctl(any_socket, 0x8921, request), 16)[0])
"""
"""Prints the MTU of the shell's device (SIOCGIFMTU)."""


@pytest.fixture
def sink() -> Iterator[int]:
    """Port of a server that reports the number of bytes received."""
    server = socket.create_server(("", 0))

    def take() -> None:
        while True:
            try:
                peer, _ = server.accept()
            except OSError:
                return
            with peer:
                total = 0
                while part := peer.recv(1 << 16):
                    total += len(part)
                peer.sendall(str(total).encode())

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()


@pytest.mark.parametrize("around", [[], ["--", *ME, "delay", "2ms", "--gso", "keep"]])
def test_a_super_packet_is_one_packet_of_the_queue(sink: int, tmp_path: Path, around: list[str]) -> None:
    log = tmp_path / "log"
    options = ["--gso", "keep", "--log", log, "--pcap", tmp_path / "c", "--limit", "60 packets"]
    done = shell("link", "--rate", "200mbit", "--aqm", "codel", *options, *around, "--", *python(SEND), sink)
    assert done.returncode == 0, done.stderr
    up = json.loads((log / "shell.json").read_text())["up"]
    assert up["gso"] == "keep"
    assert up["arrived"]["packets"] == up["departed"]["packets"] + up["dropped"]
    assert BYTES // 1448 <= up["departed"]["packets"] < up["arrived"]["packets"] + 1
    assert up["offered"] < up["arrived"]["packets"] / 2, "few are single packets"
    [result] = [sj.load(log)]
    link = result.totals["emulation"]["links"]["up"]
    assert link["agreeing"] == link["replayed"] == up["offered"]
    packets = result.packets.filter(result.packets["link"] == "up")
    assert packets["bytes"].sum() == up["arrived"]["bytes"]
    assert 10 * 1500 < packets["bytes"].max() <= 65_535 + 60 * 45
    # Captures: packets from the device at the ingress, packets for the card at the egress.
    arrivals, went = (lengths(tmp_path / f"c.up.{way}.pcapng") for way in ("in", "out"))
    assert len(arrivals) == up["offered"] and max(arrivals) > 10 * 1500
    assert len(went) == up["departed"]["packets"] and max(went) == 1500
    assert sum(went) == up["departed"]["bytes"]


def test_packets_are_single_by_default(sink: int, tmp_path: Path) -> None:
    done = shell("link", "--rate", "200mbit", "--log", tmp_path / "log", "--", *python(SEND), sink)
    assert done.returncode == 0, done.stderr
    up = json.loads((tmp_path / "log" / "shell.json").read_text())["up"]
    assert (up["gso"], up["offered"]) == ("cut", up["arrived"]["packets"])


def test_the_mtu_of_a_link_is_set_on_its_devices(sink: int, tmp_path: Path) -> None:
    up = json.dumps({"rate": "200 Mbit/s", "mtu": "9000 B"})
    code = MTU + SEND
    done = shell("link", "--up", up, "--down", "200mbit", "--log", tmp_path / "log", "--", *python(code), sink)
    assert (done.returncode, done.stdout.split()) == (0, ["9000"]), done.stderr
    packets = sj.load(tmp_path / "log").packets
    # The peer advertises the MSS of its own direction, so TCP sends no larger packets.
    assert packets["bytes"].max() == 1500
    done = shell("link", "--rate", "200mbit", "--mtu", "9000B", "--log", tmp_path / "jumbo", "--", *python(SEND), sink)
    assert done.returncode == 0, done.stderr
    jumbo = sj.load(tmp_path / "jumbo").packets
    assert jumbo["bytes"].max() == 9000
    done = shell("delay", "0s", "--mtu", "600B", "--", *python(MTU))
    assert (done.returncode, done.stdout) == (0, "600\n"), done.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["delay", "1ms", "--gso", "kept"], '--gso: unknown choice "kept"; did you mean "keep"?'),
        (["loss", "1%", "--gso", "keep"], 'unknown option "--gso"'),
        (["delay", "1ms", "--mtu", "10B"], "--mtu: "),
        (["link", "--rate", "1mbit", "--mtu", "1500"], "--mtu: "),
        (
            ["link", "--rate", "1mbit", "--class", "1:10"],
            '--class: "1:10" is not a port and a class; write e.g. 5201=1:10',
        ),
        (["link", "--rate", "1mbit", "--class", "80=x"], '--class 80=x: "x" is not a class'),
    ],
)
def test_bad_options_are_refused_in_one_line(words: list[str], text: str) -> None:
    done = shell(*words, "--", "true")
    assert done.returncode == 2
    assert done.stderr.startswith(f"Error: {text}"), done.stderr
    assert len(done.stderr.splitlines()) == 1
