"""Scenario of a shell's log with its traffic: the recorded arrivals at both links, as captures to replay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from sojourn.base.errors import InputError
from sojourn.engines.emulated.logs import SIDES
from sojourn.io.pcap.export import write_packets
from sojourn.io.pcap.wire import RecordedPacket, address, ports
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario

LEAST = 28
"""Bytes of the IPv4 and UDP headers, the smallest packet of a capture."""


def rerun_scenario(result: Result) -> Scenario:
    """Scenario that the simulator runs: the links of a shell's log, its changes, and its packets at their times.

    The packets are written to `arrivals.down.pcapng` and `arrivals.up.pcapng` in the folder of the log. They do not
    react to the queue.
    """
    folder = result.folder
    if folder is None or not result.is_shell:
        raise InputError(f"{folder or result}: not the log of a shell; run its scenario")
    flows = []
    for number, (side, direction) in enumerate(zip(SIDES, ("forward", "reverse"), strict=True)):
        arrivals = _arrivals(result, number, _overhead(result.at(side)))
        if arrivals.is_empty():
            continue
        path = Path(folder).resolve() / f"arrivals.{side}.pcapng"
        write_packets(path, f"arrivals at {side} of {folder}", side, _packets(arrivals))
        start = {"start": f"{arrivals['at_ns'][0]} ns"}
        flows.append({"kind": "pcap", "file": str(path), "direction": direction, "duplicates": "keep", **start})
    if not flows:
        raise InputError(f"{folder}: no packet reached the links, so there is nothing to run")
    return Scenario.build({**result.scenario.document, "flows": flows})


def _overhead(result: Result) -> int:
    """Bytes that a link's framing adds to a packet."""
    link: dict[str, Any] = result.setup
    if link["framing"] != "ethernet" or link["mpu"] != "0 B":
        raise InputError(f"{result.folder}: its framing hides the sizes of IP packets; only plain framing can be run")
    return int(link["overhead"].split()[0]) if link["account"] == "adjusted" else 0


def _arrivals(result: Result, link: int, overhead: int) -> pl.DataFrame:
    """Arrivals at a link in order: time, flow from 0 on, IP bytes, ECN field."""
    sent = result.table("packets").with_columns(at_ns=pl.col("time_ns") - pl.col("sojourn_ns"))
    waiting = result.table("waiting").with_columns(at_ns="time_ns")
    columns = ["link", "at_ns", "arrival", "flow", "bytes", "ecn"]
    both = pl.concat([sent.select(columns), waiting.select(columns)]).filter(pl.col("link") == link).sort("arrival")
    size = (pl.col("bytes").cast(pl.Int64) - overhead).clip(LEAST)
    return both.with_columns(bytes=size, flow=pl.col("flow").rank("dense").cast(pl.Int64) - 1)


def _packets(arrivals: pl.DataFrame) -> Iterator[tuple[int, RecordedPacket]]:
    for number, row in enumerate(arrivals.iter_rows(named=True)):
        near, far = ports(row["flow"])
        source, destination = (address(0), near), (address(1), far)
        yield row["at_ns"], RecordedPacket(number, row["ecn"], source, destination, row["bytes"])
