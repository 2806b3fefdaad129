"""CAKE's shares among real programs, beside the ideal and the simulator: ``python -m sojourn.emulated.shares``.

The cases are those of ``python -m sojourn.kernel.shares``, which has the kernel. Unresponsive senders inside a shell
have a host address each; bytes are counted at the other end. A second table has the latency under a bulk transfer.
Unfaithful runs are repeated, up to twice as many runs in all.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click

from sojourn.base.errors import MissingError
from sojourn.engines.emulated import engine, flood
from sojourn.engines.kernel.shares import BYTES, CASES, LEFT_OUT_S, LENGTH_S, RATE, Case, pattern_of
from sojourn.model.aqms.queue import Queue
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario

LINK = 100 * RATE
"""Rate of the link below CAKE, in bit/s."""
SIZE, PORT = 1500, 6000
LATENCY = """
name = "latency under load"
duration = "20 s"
warmup = "5 s"
[link]
rate = "50 Mbit/s"
aqm = "cake besteffort nat dual-srchost"
[reverse]
rate = "50 Mbit/s"
aqm = "cake besteffort nat dual-srchost"
[[flows]]
kind = "tcp"
cc = "cubic"
stack = "linux-6.1"
rtt = "20 ms"
[[flows]]
kind = "request"
cc = "cubic"
stack = "linux-6.1"
rtt = "20 ms"
request = "64 B"
size = "64 B"
gap = "100 ms"
[probes]
packets = true
transfers = true
"""
"""A bulk transfer, and ten requests per second."""


class Run(NamedTuple):
    """Numbers of a run and its faults."""

    numbers: list[float]
    faults: list[str]


def cake_config(case: Case) -> str:
    """CAKE's configuration, the same as in the kernel's table."""
    return f"cake bandwidth {RATE}bit {case.words} memlimit 400kB"


def parties(case: Case, of_load: list[float], seconds: float) -> list[float]:
    """Share of each party in percent of the rate, from the bytes of each load."""
    return [100 * sum(of_load[number] for number in party) * 8 / (RATE * seconds) for party in case.parties]


def simulated(case: Case) -> list[float]:
    """Share of each party in the simulator's queue, in percent of the rate."""
    queue = Queue(cake_config(case), limit="1000000 packets", rate=f"{LINK // 10**6} Mbit/s", mtu=BYTES)
    received, now = [0.0] * len(case.loads), 0
    arrivals = pattern_of(case).packets
    sending_ns = BYTES * 8 * 10**9 // LINK
    free: int | None = None

    def serve(until: int) -> None:
        nonlocal free
        while free is not None and free < until:
            at = free
            popped = queue.pop(at)
            if popped is None:
                free = queue.not_before()
                continue
            if LEFT_OUT_S * 10**9 <= at < LENGTH_S * 10**9:
                received[popped.tag - 1] += BYTES
            free = at + sending_ns

    for packet in arrivals:
        serve(packet.at)
        now = packet.at
        hosts = (packet.source, packet.destination)
        queue.push(now, BYTES, flow=packet.flow, dscp=packet.dscp, hosts=hosts, tag=packet.flow)
        free = now if free is None else free
    return parties(case, received, LENGTH_S - LEFT_OUT_S)


def emulated(case: Case) -> Run:
    """Share of each party's real datagrams, in percent of the rate."""
    with TemporaryDirectory(prefix="sojourn-") as name:
        folder = Path(name)
        # Sources start at .128, which the counter's route covers; destinations follow at .192.
        loads = [
            {
                "rate": load.rate,
                "size": SIZE,
                "dscp": load.dscp,
                "source": 128 + load.source,
                "destination": 192 + load.destination // 16,
            }
            for load in case.loads
        ]
        spec = {"loads": loads, "seconds": LENGTH_S, "left_out": LEFT_OUT_S, "port": PORT}
        (folder / "spec.json").write_text(json.dumps({**spec, "counted": str(folder / "counted")}), encoding="utf-8")
        program = [sys.executable, flood.__file__]
        up = json.dumps({"rate": f"{LINK} bit/s", "aqm": cake_config(case), "limit": "1000000 packets"})
        peer = shlex.join([*program, "count", str(folder / "spec.json")])
        options = [f"--up={up}", "--down=1gbit", "--quiet", f"--log={folder / 'log'}", f"--peer={peer}"]
        shell = [sys.executable, "-m", "sojourn.engines.emulated.shell", "link", *options, "--"]
        done = subprocess.run(
            [*shell, *program, "send", str(folder / "spec.json")],
            stderr=subprocess.PIPE,
            text=True,
            timeout=LENGTH_S + engine.GRACE_S,
            check=False,
        )
        if done.returncode:
            raise MissingError(f"the emulated run failed: {done.stderr.strip()}")
        counted = json.loads((folder / "counted").read_text(encoding="ascii"))
        report = json.loads((folder / "log" / "shell.json").read_text(encoding="utf-8"))
    return Run(parties(case, counted, LENGTH_S - LEFT_OUT_S), report["faults"])


def latency(result: Result) -> list[float]:
    """Median response time of the requests and median sojourn time of the bulk transfer, in ms."""
    answered = result.transfers.filter((result.transfers["group"] == 1) & (result.transfers["start_s"] > 5))
    packets = result.packets.filter((result.packets["link"] == "forward") & (result.packets["time_s"] > 5))
    full = packets.filter((packets["bytes"] > SIZE // 2) & (packets["fate"] != "dropped"))
    return [1e3 * float(answered["duration_s"].median()), float(full["sojourn_ms"].median())]  # type: ignore[arg-type]


def faithful_runs(run: Callable[[], Run], runs: int) -> tuple[list[list[float]], int]:
    """Numbers of `runs` faithful runs, or of those among twice as many, and the number of all runs."""
    good: list[list[float]] = []
    tried = 0
    while len(good) < runs and tried < 2 * runs:
        tried += 1
        numbers, faults = run()
        if not faults:
            good.append(numbers)
        else:
            click.echo(f"not faithful: {faults[0]}", err=True)
    return good, tried


def medians(good: list[list[float]]) -> list[float]:
    """Median of each number over the runs."""
    return [median(column) for column in zip(*good, strict=True)]


def format_cell(numbers: list[float], digits: int) -> str:
    """Format the numbers of a cell."""
    return " : ".join(f"{number:.{digits}f}" for number in numbers) or "none"


def print_shares(runs: int, cases: list[Case]) -> None:
    """Print the table of shares."""
    click.echo("| CAKE | among | ideal, % | simulated, % | emulated, % | faithful runs | apart |")
    click.echo("|---|---|---|---|---|---|---|")
    for case in cases:
        reference = simulated(case)
        good, tried = faithful_runs(lambda case=case: emulated(case), runs)  # type: ignore[misc]
        found = medians(good)
        apart = max((abs(there / here - 1) for there, here in zip(found, reference, strict=False)), default=None)
        difference = "" if apart is None else f"{100 * apart:.1f} %"
        ideal = " : ".join(f"{share:.4g}" for share in case.ideal)
        cells = [
            f"`{case.words}`",
            case.name,
            ideal,
            format_cell(reference, 2),
            format_cell(found, 2),
            f"{len(good)} of {tried}",
        ]
        click.echo(f"| {' | '.join([*cells, difference])} |")


def print_latency(runs: int) -> None:
    """Print the table of latencies."""
    scenario = Scenario.parse(LATENCY)
    engine.check(scenario)
    here = latency(scenario.run())
    seeds = iter(range(1, 10**6))

    def run() -> Run:
        result = engine.run(scenario, next(seeds))
        faults: list[Any] = result.totals["emulation"]["faults"]
        return Run(latency(result), [str(fault) for fault in faults])

    good, tried = faithful_runs(run, runs)
    there = medians(good)
    click.echo("| at 50 Mbit/s | simulated, ms | emulated, ms | faithful runs | apart |")
    click.echo("|---|---|---|---|---|")
    rows = ("response to a request over 20 ms beside a bulk transfer", "sojourn time of the bulk transfer")
    for number, (row, simulated_ms) in enumerate(zip(rows, here, strict=True)):
        found, apart = "none", ""
        if there:
            found, apart = f"{there[number]:.2f}", f"{100 * abs(there[number] / simulated_ms - 1):.1f} %"
        click.echo(f"| {row} | {simulated_ms:.2f} | {found} | {len(good)} of {tried} | {apart} |")


@click.command()
@click.option("--runs", default=5, type=click.IntRange(1), help="Number of faithful runs per case.")
@click.option("--only", type=click.IntRange(0, len(CASES)), help="One case by its number; 0 is the latency.")
def main(runs: int, only: int | None) -> None:
    """Print both tables. Takes some minutes, and needs `ip` and the same as `sojourn link`."""
    if only != 0:
        print_shares(runs, list(CASES) if only is None else [CASES[only - 1]])
    if not only:
        print_latency(runs)


if __name__ == "__main__":
    main()
