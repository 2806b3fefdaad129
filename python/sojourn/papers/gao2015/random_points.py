"""The authors' random points: 2,880 published runs and ours.

For each of eight round-trip times there are 120 draws of the rate (1 to 100 Mbit/s), the FTPs (1 to 64), the reverse
FTPs (0 to 4) and the web connections a second (0 to 80), each under the three schemes. The rest is as in the other
runs. The points are those of `published-random.csv`. Nearly all have random web traffic, so a row can agree no better
than two seeds of ns-2 do.

The FIFO queue is not 50 ms long there: judging by its maximum delays it holds a fixed number of packets at each
round-trip time, regardless of the rate (about 369 at 10 ms, 37 at 30 ms). We use the minimum number that these delays
require; comparing FIFO's maximum delay is therefore no test of the length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import floor
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.papers.gao2015 import published
from sojourn.papers.gao2015.analysis import FIFO, RANDOM_ROUND_TRIPS_MS, ROUND_TRIPS_MS, SCHEMES, point_of
from sojourn.papers.gao2015.traffic import AT_START
from sojourn.papers.judge import Measurements, Relation, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.studies.study import Study, StudyResult

TITLE = "The published random points beside ours"
STUDY = "random.toml"
ON_REQUEST = "2,880 runs take about ten minutes of CPU time"
FILE = "published-random.csv"
RELATIONS: dict[str, Relation] = {}

NEVER = "100 s"
"""End of the run."""
ROUND_TRIPS = (ROUND_TRIPS_MS | RANDOM_ROUND_TRIPS_MS).values()
"""Nominal round-trip times in milliseconds."""
SEGMENT, HEADERS, ACK = 1460, 40, 40
"""In bytes."""


def points(study: Study, _load: object) -> Study:
    """A run per published one, each the study's only point with other values."""
    [base] = study.points
    rows = published.published(FILE)
    lengths = fifo_packets(rows)
    values = [_values(row, lengths[row["rtt_ms"]]) for row in rows.iter_rows(named=True)]
    return replace(study, points=[point_of(base.scenario, one) for one in values], axes=(tuple(values[0]),))


def fifo_packets(rows: pl.DataFrame) -> dict[int, int]:
    """Length of the FIFO queue in packets, by round-trip time: the minimum that the maximum delays require."""
    waiting = pl.col("published_max_ms") * pl.col("rate") * 1000 / (8 * (SEGMENT + HEADERS))
    most = rows.filter(pl.col("scheme") == FIFO).group_by("rtt_ms").agg(waiting.max().ceil().cast(pl.Int64))
    return dict(most.iter_rows())


def _values(row: dict[str, Any], fifo: int) -> dict[str, Any]:
    """Keys of the scenario, as set by the authors' script; the FIFO queue holds `fifo` packets."""
    [aqm] = [word for word, name in SCHEMES.items() if name == row["scheme"]]
    rate = row["rate"]
    limit = {"codel@ns2-patch": 1000, "codel@hardlimit-ns2": 1_000_000}.get(aqm, fifo)
    access_bits_per_us = 10 * rate
    last_hop_us = 8 * (SEGMENT + HEADERS + ACK) / access_bits_per_us  # on the client's access link
    rtt_us = round(1000 * row["rtt_ms"] + last_hop_us, 3)
    half_ns = floor(500 * rtt_us)
    links = {
        f"{link}.{key}": value
        for link in ("link", "reverse")
        for key, value in {
            "aqm": aqm,
            "limit": f"{limit} packets",
            "rate": f"{rate} Mbit/s",
            "delay": f"{half_ns / 1e6:.6f} ms",  # the whole delay: traffic goes both ways
        }.items()
    }
    flows = {
        f"flows.{number}.{key}": value
        for number in range(3)
        for key, value in {
            "access_rate": f"{10 * rate} Mbit/s",
            "receive_window": f"{packets(rate, 1600) * SEGMENT} B",  # 16 bandwidth-delay products at 100 ms
            "rtt": f"{rtt_us:.3f} us",
        }.items()
    }
    return (
        links
        | flows
        | {
            "flows.0.count": row["flows"],
            "flows.1.count": row["reverse"] or 1,
            "flows.1.start": AT_START if row["reverse"] else NEVER,
            "flows.2.connections_per_second": row["web"] or 1,
            "flows.2.start": AT_START if row["web"] else NEVER,
        }
    )


def packets(rate: int, ms: int) -> int:
    """Whole packets that a link of `rate` Mbit/s sends in `ms` milliseconds."""
    return rate * ms * 1000 // (8 * (SEGMENT + HEADERS))


def measure(result: StudyResult) -> Measurements:
    """Throughput, maximum and mean delay of every run, and the published ones."""
    return published.join_published(result, _keys, FILE)


def shares(measured: Measurements) -> pl.DataFrame:
    """Number of rows near the published ones, by scheme and round-trip time."""
    return published.shares_of(measured, "scheme", "rtt_ms")


def _keys(run: dict[str, Any]) -> dict[str, Any]:
    rtt_ms = 2 * float(run["link.delay"].removesuffix(" ms"))
    return {
        "rtt_ms": max(one for one in ROUND_TRIPS if one <= rtt_ms),
        "reverse": run["flows.1.count"] if run["flows.1.start"] == AT_START else 0,
        "web": run["flows.2.connections_per_second"] if run["flows.2.start"] == AT_START else 0,
    }


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw ours over the published, a panel each for throughput, maximum and mean delay."""
    return published.draw(measure(result).cells)
