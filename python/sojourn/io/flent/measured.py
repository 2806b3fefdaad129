"""What a test's user looks at first, of one run: rates, pings, the call."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sojourn import _core
from sojourn.io.flent.traffic import traffic_of
from sojourn.model.analysis.metrics import MEASURES
from sojourn.model.results.result import Result


def measured(result: Result, test: str) -> dict[str, Any]:
    """A value for each of `MEASURES`, in the statistics window; None for what the test does not have.

    Rates are the goodput of all flows of a direction, which are in place of `goodput_bps`; `jain` is that of the
    downloads, or of the uploads where there are none. Pings are those of all series together, without the first one of
    each, which has a handshake in it.
    """
    traffic = traffic_of(result, test)
    of_flows = {int(flow["id"]): flow for flow in result.flow_totals.iter_rows(named=True)}
    row: dict[str, Any] = {metric.column: None for metric in MEASURES}
    row |= {"goodput_bps": None, "delivered_bps": None, "jain": None}
    for way, streams in traffic.definition.ways.items():
        if streams.bounds[1]:
            own = [float(of_flows[flow.number]["goodput_bps"]) for flow in traffic.flows if flow.way == way]
            row[f"{way}_bps"] = sum(own)
            row["jain"] = row["jain"] or _core.jain(own)
    if traffic.pings:
        begun = result.table("transfers").filter(pl.col("group").is_in(list(traffic.pings))).sort("start_ns")
        asked = begun.filter((pl.int_range(pl.len()).over("flow") > 0) & (pl.col("start_ns") >= 1e9 * result.warmup_s))
        if not asked.is_empty():
            times = asked["duration_ns"].to_numpy() / 1e6
            row["ping_mean_ms"] = float(times.mean())
            quantiles = {"ping_p50_ms": 0.5, "ping_p95_ms": 0.95, "ping_p99_ms": 0.99}
            row |= {name: float(np.quantile(times, q)) for name, q in quantiles.items()}
    if traffic.voice is not None:
        call = result.group_totals[traffic.voice]
        row["mos"], row["call_loss"] = call.get("mos"), call.get("loss_rate")
    return row
