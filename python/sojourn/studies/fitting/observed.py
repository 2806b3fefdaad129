"""Metrics that are measured from outside the queue: round-trip times, pings, goodput, retransmissions.

Those of segments are computed from a probe's tables exactly as from a capture beside the senders. A ping is a request
of a flow group of kind `request`: its packets cross the queues of both directions.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sojourn.base.errors import InputError
from sojourn.io.pcap.sender import NO_SACK, Acks, triggered_acks
from sojourn.model.analysis.metrics import Metric
from sojourn.model.results.result import Result

DELAY = re.compile(r"(rtt|ping)\s+(mean|(\d+(?:\.\d+)?)\s*%)")
GOODPUT = re.compile(r"tcp goodput(?: (forward|reverse))?")
RETRANSMITTED = "retransmitted"
PINGS = (10, 25, 50, 75, 90, 95, 99)
"""Quantiles of pings that a summary has, in percent."""
WORDS = ("tcp goodput", RETRANSMITTED, "rtt mean", "rtt 50%", "ping mean", "ping 50%")
"""Examples of the names of these metrics."""


def observed_metric(place: str, word: str) -> Metric | None:
    """The metric with a name such as `rtt mean` or `ping 90%`; None for other names."""
    if GOODPUT.fullmatch(word):
        return Metric(word, word, "Mbit/s", digits=3)
    if word == RETRANSMITTED:
        return Metric(word, word, "%")
    match = DELAY.fullmatch(word)
    if match is None:
        return None
    kind, share = match[1], float(match[3]) if match[3] else None
    if share is None:
        return Metric(f"{kind} mean", kind, "ms")
    if not 0 < share < 100:
        raise InputError(f'{place}: "{word}" is not a quantile; write e.g. "{kind} 90%"')
    if kind == "ping" and share not in PINGS:
        known = ", ".join(f"{one}%" for one in PINGS)
        raise InputError(f'{place}: "{word}": runs have these quantiles of pings: {known}; take one of them')
    return Metric(f"{kind} {share:g}%", kind, "ms")


def required_probes(metric: str) -> dict[str, Any]:
    """Probes that a metric needs, as keys of a scenario."""
    return {"probes.senders": True} if metric.startswith("rtt ") or metric == RETRANSMITTED else {}


def observed_value(result: Result, metric: str) -> float | None:
    """Value of one of these metrics in a run: NaN without samples; None if the metric is not one of them."""
    if match := GOODPUT.fullmatch(metric):
        return _goodput(result, match[1])
    if metric == RETRANSMITTED:
        return _retransmitted(result)
    match = DELAY.fullmatch(metric)
    if match is None:
        return None
    if match[1] == "ping":
        return _ping(result, "mean" if match[3] is None else f"p{float(match[3]):.0f}")
    found = round_trips(result)
    if not len(found):
        return float("nan")
    return float(found.mean() if match[3] is None else np.quantile(found, float(match[3]) / 100))


def round_trips(result: Result) -> NDArray[np.float64]:
    """RTT in ms of the segments that TCP sources sent in the statistics window, as measured beside the sources."""
    segments = _data(result)
    acks = result.table("acks").filter(pl.col("end") == SOURCE)
    begin_ns = round(1e9 * result.warmup_s)
    answers = acks.partition_by("flow", as_dict=True)
    parts = []
    for flow, table in segments.partition_by("flow", as_dict=True, maintain_order=True).items():
        if flow not in answers:
            continue
        start = _integers(table["seq"])
        sent = (_integers(table["time_ns"]), start, start + _integers(table["payload"]))
        rows = answers[flow]
        tops = _integers(rows["sack1_to"])
        none = np.zeros(rows.height, bool)
        received = Acks(_integers(rows["time_ns"]), _integers(rows["ack"]), np.where(tops > 0, tops, NO_SACK), none)
        times, delays, delayed = triggered_acks(sent, received)
        kept = (times >= begin_ns) & (~delayed if not delayed.all() else True)
        parts.append(delays[kept] / 1e6)
    return np.concatenate(parts) if parts else np.empty(0)


def _goodput(result: Result, direction: str | None) -> float:
    """Goodput of the TCP flow groups, of one direction or of both, in Mbit/s."""
    groups = [one for one in result.totals["groups"] if one["kind"] == "tcp" and direction in (None, one["direction"])]
    if not groups:
        where = f" in direction {direction}" if direction else ""
        raise InputError(f'measured: tcp goodput: the scenario has no flow group of kind = "tcp"{where}')
    return float(sum(one["goodput_bps"] for one in groups)) / 1e6


def _retransmitted(result: Result) -> float:
    """Share of retransmitted bytes among those that TCP sources sent in the window, in percent."""
    own = _data(result).filter(pl.col("time_ns") >= round(1e9 * result.warmup_s))
    total = int(own["payload"].sum())
    return 100 * int(own.filter(pl.col("again") == 1)["payload"].sum()) / total if total else float("nan")


def _ping(result: Result, which: str) -> float:
    """Mean or quantile of the response times of the first group of requests."""
    group = next((one for one in result.totals["groups"] if one["kind"] == "request"), None)
    if group is None:
        raise InputError('measured: ping: no flow sends requests; add to [[flows]] a group of kind = "request"')
    found = group["completion_ms"][which]
    return float("nan") if found is None else float(found)


def _data(result: Result) -> pl.DataFrame:
    """Data segments sent by the flows' sources."""
    return result.table("segments").filter((pl.col("payload") > 0) & (pl.col("end") == SOURCE))


def _integers(column: pl.Series) -> NDArray[np.int64]:
    return column.to_numpy().astype(np.int64)


SOURCE = 0
"""Source end of a flow in the tables of senders."""
