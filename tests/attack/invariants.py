"""Invariants of results: shares from 0 to 1, no negative times, each packet departs or is dropped once."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SHARES = {"utilisation", "drop_rate", "mark_rate", "loss_rate", "jain", "busy", "airtime", "airtime_down"}
"""Keys of a summary with values from 0 to 1."""
ROUNDING = 1e-9
"""Rounding error allowed above 1."""


def violations(folder: Path) -> Iterator[str]:
    """Violated invariants of the results in a folder."""
    for manifest in sorted(folder.glob("*/manifest.json")):
        summary = json.loads(manifest.read_bytes())["summary"]
        yield from _numbers(summary, "summary", float(summary["duration_s"]))
        yield from _packets(manifest.parent)


def fingerprints(folder: Path) -> dict[str, str]:
    """Fingerprints of the results in a folder, by hash."""
    return {
        manifest.parent.name: json.loads(manifest.read_bytes())["summary"]["fingerprint"]
        for manifest in folder.glob("*/manifest.json")
    }


def _numbers(found: Any, place: str, duration_s: float) -> Iterator[str]:
    key = place.rpartition(".")[2]
    if isinstance(found, dict):
        if "dropped_by" in found and found["dropped"] != sum(found["dropped_by"].values()):
            yield f"{place}: {found['dropped']} dropped, by reason {found['dropped_by']}"
        if "retransmissions" in found and found["retransmissions"] > found["sent"]:
            yield f"{place}: {found['retransmissions']} retransmissions of {found['sent']} sent"
        longest_ms = 1e3 * duration_s if key == "sojourn_ms" else math.inf
        if any(value is not None and value > longest_ms for value in found.values() if key == "sojourn_ms"):
            yield f"{place}: longer than the run, {found}"
        for name, value in found.items():
            yield from _numbers(value, f"{place}.{name}", duration_s)
    elif isinstance(found, list):
        for number, value in enumerate(found):
            yield from _numbers(value, f"{place}[{number}].{key}", duration_s)
    elif isinstance(found, (int, float)) and not 0 <= found <= (1 + ROUNDING if key in SHARES else math.inf):
        yield f"{place}: {found}"


def _packets(result: Path) -> Iterator[str]:
    """Violations of packet conservation: each arrival departs, is dropped or is still queued, exactly once."""
    if not (result / "packets.parquet").is_file():
        return
    import polars as pl

    ended = pl.read_parquet(result / "packets.parquet")
    if (backwards := ended.filter(pl.col("sojourn_ns") > pl.col("time_ns")).height) > 0:
        yield f"{result.name}: {backwards} packets waited since before the run"
    parts = [ended.select("link", "arrival")]
    if (result / "waiting.parquet").is_file():
        parts.append(pl.read_parquet(result / "waiting.parquet").select("link", "arrival"))
    queues = pl.concat(parts).group_by("link").agg(pl.len(), pl.col("arrival").n_unique(), last=pl.col("arrival").max())
    for link, count, distinct, last in queues.sort("link").rows():
        if count != distinct or last + 1 != count:
            yield f"{result.name}: link {link}: {last + 1} packets arrived, {count} ended or wait, {distinct} distinct"
