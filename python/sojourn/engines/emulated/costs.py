"""CPU cost and throughput of shells for two builds: ``python -m sojourn.emulated.costs --old PYTHON``.

One TCP flow through a shell, or through nested shells, and the CPU time that the shells report: their user and system
time, with the kernel's receive processing that is accounted to them. Requests over a delay measure response times. The
builds alternate in each case, so that the machine's other load meets both.
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from statistics import median
from typing import NamedTuple

import click

from sojourn.base.errors import MissingError

CHUNK = 1 << 20
COUNT = struct.Struct("!Q")
CLIENT = """
import json, os, socket, struct, sys, time
kind, port, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
peer = socket.create_connection((os.environ["SOJOURN_HOST"], port))
peer.sendall(kind.encode())
begin = time.monotonic()
if kind == "u":
    chunk = bytes(1 << 20)
    while time.monotonic() < begin + seconds:
        peer.sendall(chunk)
    peer.shutdown(socket.SHUT_WR)
    result = {"bytes": struct.unpack("!Q", peer.recv(8, socket.MSG_WAITALL))[0]}
elif kind == "d":
    count, room = 0, bytearray(1 << 20)
    while time.monotonic() < begin + seconds:
        count += peer.recv_into(room)
    result = {"bytes": count}
else:
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    times = []
    while time.monotonic() < begin + seconds:
        sent = time.monotonic()
        peer.sendall(b"?")
        peer.recv(1)
        times.append(time.monotonic() - sent)
        time.sleep(0.01)
    result = {"bytes": 0, "times": times}
print(json.dumps(result | {"seconds": time.monotonic() - begin}))
"""
"""Client inside the shell: one flow up (u) or down (d), or requests of one byte (q)."""
REPORT = re.compile(r"^\w+: shell +([\d.]+) s, ([\d.]+) % of a CPU", re.MULTILINE)


class Case(NamedTuple):
    """Nested shells, the outermost first, and the kind of traffic through them."""

    name: str
    kind: str
    shells: tuple[str, ...]


CASES = [
    Case("link 100 Mbit/s, down", "d", ("link --rate 100mbit",)),
    Case("link 1 Gbit/s, down", "d", ("link --rate 1gbit",)),
    Case("link 1 Gbit/s, up", "u", ("link --rate 1gbit",)),
    Case("link 10 Gbit/s, down", "d", ("link --rate 10gbit",)),
    Case("link 10 Gbit/s, up", "u", ("link --rate 10gbit",)),
    Case("delay 20 ms, up", "u", ("delay 20ms",)),
    Case("delay 20 ms around link 1 Gbit/s, down", "d", ("delay 20ms", "link --rate 1gbit")),
    Case("delay 20 ms, requests", "q", ("delay 20ms",)),
]


class CostSample(NamedTuple):
    """One run: throughput, CPU cost, response time, and whether it was faithful."""

    gbps: float
    cpu_s: float
    """CPU seconds per Gbit; for requests, CPU seconds per second."""
    p99_ms: float
    """99th percentile of the response time; zero without requests."""
    faithful: bool


def measure(python: str, case: Case, seconds: float) -> CostSample:
    """Run a case once with the build installed for an interpreter."""
    with _server() as port:
        words = [word for shell in case.shells for word in (python, "-m", "sojourn", *shell.split(), "--")]
        words += [sys.executable, "-c", CLIENT, case.kind, str(port), str(seconds)]
        # The interpreter must import its own installation, not the one of our environment.
        environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment, cwd="/")
    if done.returncode:
        raise MissingError(f"{python}: {case.name} fails: {done.stderr.strip()}; see `sojourn doctor`")
    report = json.loads(done.stdout)
    cpu_s = sum(float(wall) * float(percent) / 100 for wall, percent in REPORT.findall(done.stderr))
    gbit, times = report["bytes"] * 8 / 1e9, sorted(report.get("times", [0.0]))
    per_unit = gbit or report["seconds"]
    p99 = times[min(len(times) - 1, int(0.99 * len(times)))] * 1e3
    return CostSample(gbit / report["seconds"], cpu_s / per_unit, p99, "not faithful" not in done.stderr)


@contextmanager
def _server() -> Iterator[int]:
    """Server outside of the shells: it counts, sends or responds, depending on the first byte."""
    with socket.create_server(("", 0)) as server:
        threading.Thread(target=_serve, args=[server], daemon=True).start()
        port: int = server.getsockname()[1]
        yield port


def _serve(server: socket.socket) -> None:
    with suppress(OSError):  # the end of the run is the end of the connection
        peer, _ = server.accept()
        with peer:
            kind = peer.recv(1)
            if kind == b"u":
                count, room = 0, bytearray(CHUNK)
                while more := peer.recv_into(room):
                    count += more
                peer.sendall(COUNT.pack(count))
            elif kind == b"d":
                chunk = bytes(CHUNK)
                while True:
                    peer.sendall(chunk)
            else:
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while request := peer.recv(1):
                    peer.sendall(request)


def row(case: Case, runs: dict[str, list[CostSample]]) -> list[str]:
    """Cells of a case: throughput and cost per build, as median (minimum–maximum)."""
    cells = [case.name]
    for build in runs.values():
        if case.kind == "q":
            cells += [
                f"{_median_cell([one.p99_ms for one in build], 1)} ms",
                _median_cell([one.cpu_s for one in build], 3),
            ]
        else:
            cells += [_median_cell([one.gbps for one in build], 3), _median_cell([one.cpu_s for one in build], 3)]
        cells.append(f"{sum(one.faithful for one in build)} of {len(build)}")
    return cells


def _median_cell(numbers: list[float], digits: int) -> str:
    low, high = min(numbers), max(numbers)
    return f"{median(numbers):.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


@click.command()
@click.option("--old", metavar="PYTHON", help="Interpreter of another build, run alternately with this one.")
@click.option("--runs", default=5, show_default=True, type=click.IntRange(1), help="Number of runs per case and build.")
@click.option("--seconds", default=5.0, show_default=True, help="Length of a run.")
@click.option("--only", multiple=True, help="Run only cases whose names contain this; repeatable.")
def main(old: str | None, runs: int, seconds: float, only: tuple[str, ...]) -> None:
    """Print a table: Gbit/s, CPU seconds of the shells per Gbit, and the number of faithful runs.

    For requests it has the response time (99th percentile) and the CPU seconds per second.
    """
    builds = {name: python for name, python in (("old", old), ("new", sys.executable)) if python}
    heads = [f"{name}: {column}" for name in builds for column in ("Gbit/s", "CPU-s per Gbit", "faithful")]
    loads = [os.getloadavg()[0]]
    begin = time.monotonic()
    cases = [case for case in CASES if not only or any(word in case.name for word in only)]
    click.echo("| case | " + " | ".join(heads) + " |")
    click.echo("|---" * (len(heads) + 1) + "|")
    for case in cases:
        samples: dict[str, list[CostSample]] = {name: [] for name in builds}
        for number in range(runs):
            # Each build goes first in every other run.
            for name, python in list(builds.items())[:: -1 if number % 2 else 1]:
                samples[name].append(measure(python, case, seconds))
                loads.append(os.getloadavg()[0])
        click.echo("| " + " | ".join(row(case, samples)) + " |")
        sys.stdout.flush()
    click.echo(
        f"{runs} runs of {seconds:g} s each, medians (least–most); load average {min(loads):.1f} to {max(loads):.1f}, "
        f"{os.cpu_count()} CPUs; {time.monotonic() - begin:.0f} s in all"
    )


if __name__ == "__main__":
    main()
