"""Unresponsive UDP senders and their receiver; a standalone program that needs only Python's standard library.

`flood.py count SPEC` counts outside of a shell, `flood.py send SPEC` sends from inside. SPEC is a JSON file: `loads`
(each with `rate` in bit/s, `size` in bytes of IP, `dscp`, `source` and `destination` as the last octets of addresses in
the shell's subnet), `seconds`, `left_out`, `port` of the first load, and `counted`, the file for the bytes of each load
that arrived after the first `left_out` seconds.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HEADERS = 28
"""Bytes of the IPv4 and UDP headers."""
BUFFER_BYTES = 1 << 22
MAX_SLEEP_S = 0.001


def subnet() -> str:
    """First three octets of the shell's addresses."""
    return os.environ["SOJOURN_HOST"].rpartition(".")[0]


def send(spec: dict[str, Any]) -> None:
    """Send until the time is over and the counter has written its file."""
    ready, counted = Path(spec["counted"] + ".ready"), Path(spec["counted"])
    while not ready.exists():
        time.sleep(0.01)
    begin = time.monotonic()
    flows = []
    for number, load in enumerate(spec["loads"]):
        peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # Each load has its own host address, which is on no device.
        peer.setsockopt(socket.SOL_IP, socket.IP_TRANSPARENT, 1)
        peer.setsockopt(socket.SOL_IP, socket.IP_TOS, load["dscp"] << 2)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        peer.bind((f"{subnet()}.{load['source']}", 0))
        peer.connect((f"{subnet()}.{load['destination']}", spec["port"] + number))
        gap = load["size"] * 8 / load["rate"]
        # Stagger the starts, so that no two loads send at the same instant.
        flows.append([begin + gap * number / len(spec["loads"]), gap, peer, bytes(load["size"] - HEADERS)])
    end = begin + spec["seconds"] + 1
    while (now := time.monotonic()) < end:
        for flow in flows:
            while flow[0] <= now:
                flow[2].send(flow[3])
                flow[0] += flow[1]
        time.sleep(max(0.0, min(MAX_SLEEP_S, min(flow[0] for flow in flows) - time.monotonic())))
    while not counted.exists():
        time.sleep(0.01)


def count(spec: dict[str, Any]) -> None:
    """Count arriving bytes; the time starts with the first datagram."""
    # The destinations are local to this namespace, which is the counter's own; the sources need a route back.
    for words in (["local", f"{subnet()}.192/26", "dev", "lo"], [f"{subnet()}.128/26", "dev", "sojourn0"]):
        subprocess.run(["ip", "route", "add", *words], check=True)
    selector, counts = selectors.DefaultSelector(), [0] * len(spec["loads"])
    for number in range(len(counts)):
        peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        peer.bind(("", spec["port"] + number))
        peer.setblocking(False)
        selector.register(peer, selectors.EVENT_READ, number)
    Path(spec["counted"] + ".ready").touch()
    begin, buffer = None, bytearray(1 << 16)
    while begin is None or time.monotonic() < begin + spec["seconds"]:
        for key, _ in selector.select(MAX_SLEEP_S * 10):
            begin = begin or time.monotonic()
            while True:
                try:
                    size = key.fileobj.recv_into(buffer)  # type: ignore[union-attr]
                except BlockingIOError:
                    break
                if time.monotonic() >= begin + spec["left_out"]:
                    counts[key.data] += size + HEADERS
    file = Path(spec["counted"])
    file.with_suffix(".new").write_text(json.dumps(counts), encoding="ascii")
    file.with_suffix(".new").rename(file)


if __name__ == "__main__":
    {"send": send, "count": count}[sys.argv[1]](json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")))
