"""Patterns of loss: bursts of successive packets of a flow, and losses shared by several flows (RFC 7928, §2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from sojourn.model.results.result import Result


def bursts(result: Result) -> pl.DataFrame:
    """Bursts of drops at the result's link in the statistics window: `flow`, `time_s` of the first, `packets`.

    A burst is a run of successive packets of a flow, in the order in which they reached the queue, that are all
    dropped. Needs the probe `drops` or `packets`.
    """
    lost = result.drops.filter(pl.col("link") == result.link).sort("flow", "number")
    begins = (pl.col("number") != pl.col("number").shift() + 1) | (pl.col("flow") != pl.col("flow").shift())
    numbered = lost.with_columns(burst=begins.fill_null(value=True).cum_sum())
    found = numbered.group_by("burst", maintain_order=True).agg(
        pl.col("flow").first(), pl.col("time_s").min(), packets=pl.len()
    )
    return found.drop("burst").filter(pl.col("time_s") >= result.warmup_s).sort("time_s", maintain_order=True)


def longest_burst(result: Result, group: int | None = None) -> int:
    """Packets of the longest burst of drops, optionally of one flow group's long-lived flows. 0 without a drop."""
    found = bursts(result)
    if group is not None:
        found = found.filter(pl.col("flow").is_in(result.flow_totals.filter(group=group)["id"].to_list()))
    longest = found["packets"].max()
    return 0 if longest is None else int(longest)  # type: ignore[arg-type]


def synchronisation(result: Result) -> float | None:
    """Share of the flows that lose packets together: within one base round-trip time of a loss.

    A loss event begins with a drop outside earlier events, at the result's link in the statistics window, and lasts for
    the longest base round-trip time of the flow groups. The share is of all long-lived forward flows, averaged over the
    events. None without an event, and with a single flow.
    """
    flows = result.flow_totals
    lasting = flows.filter(direction="forward")["id"].to_list() if len(flows) else []
    if len(lasting) < 2:
        return None
    rtt_s = max(result.scenario.base_rtt_s(group) for group in range(len(result.scenario.routes)))
    inside = (pl.col("link") == result.link) & (pl.col("time_s") >= result.warmup_s) & pl.col("flow").is_in(lasting)
    lost = result.drops.filter(inside).sort("time_s")
    times, flow_ids = lost["time_s"].to_numpy(), lost["flow"].to_numpy()
    shares, at = [], 0
    while at < len(times):
        end = int(np.searchsorted(times, times[at] + rtt_s, side="right"))
        shares.append(len(np.unique(flow_ids[at:end])) / len(lasting))
        at = end
    return float(np.mean(shares)) if shares else None
