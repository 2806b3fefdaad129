"""Key metrics of a Flent test in one run: rates, pings, the call."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn import _core
from sojourn.base.late import pl
from sojourn.io.flent.traffic import traffic_of
from sojourn.model.analysis.metrics import MEASURES
from sojourn.model.results.result import Result


def key_metrics(result: Result, test: str) -> dict[str, Any]:
    """Value of each of `MEASURES` in the statistics window; None if the test lacks it.

    Rates, the goodput of all flows of a direction, replace `goodput_bps`; `jain` is of the downloads, or of the uploads
    if there are none. Pings are of all series together, without the first of each flow, which includes a handshake.
    """
    traffic = traffic_of(result, test)
    totals = {int(flow["id"]): flow for flow in result.flow_totals.iter_rows(named=True)}
    row: dict[str, Any] = {metric.column: None for metric in MEASURES}
    row |= {"goodput_bps": None, "delivered_bps": None, "jain": None}
    for direction, streams in traffic.definition.by_direction.items():
        if streams.bounds[1]:
            rates = [float(totals[flow.number]["goodput_bps"]) for flow in traffic.flows if flow.direction == direction]
            row[f"{direction}_bps"] = sum(rates)
            row["jain"] = row["jain"] or _core.jain(rates)
    if traffic.pings:
        requests = result.table("transfers").filter(pl.col("group").is_in(list(traffic.pings))).sort("start_ns")
        pings = requests.filter(
            (pl.int_range(pl.len()).over("flow") > 0) & (pl.col("start_ns") >= 1e9 * result.warmup_s)
        )
        if not pings.is_empty():
            times = pings["duration_ns"].to_numpy() / 1e6
            row["ping_mean_ms"] = float(times.mean())
            quantiles = {"ping_p50_ms": 0.5, "ping_p95_ms": 0.95, "ping_p99_ms": 0.99}
            row |= {name: float(np.quantile(times, q)) for name, q in quantiles.items()}
    if traffic.voice is not None:
        call = result.group_totals[traffic.voice]
        row["mos"], row["call_loss"] = call.get("mos"), call.get("loss_rate")
    return row
