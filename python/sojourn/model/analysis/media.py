"""Media flows, analysed from the reports that their senders received (the probe `media`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn import _core
from sojourn.base.units import bits_per_second, rates, schedule, seconds

if TYPE_CHECKING:
    from sojourn.model.results.result import Result

Step = tuple[float, float, float]
"""Start and end in seconds, and the available bit/s between them."""


def reports(result: Result, start: float, end: float, flows: Sequence[int] | None = None) -> pl.DataFrame:
    """Return the reports in a time range, of some flows or of all."""
    found = result.media.filter((pl.col("time_s") >= start) & (pl.col("time_s") < end))
    return found if flows is None else found.filter(pl.col("flow").is_in(flows))


def targets(result: Result, start: float, end: float) -> dict[int, float]:
    """Return the mean target of each flow in a time range, in bit/s; a report is valid until the flow's next one."""
    rows = reports(result, 0.0, end).with_columns(
        pl.col("time_s").clip(lower_bound=start).alias("from"),
        pl.col("time_s").shift(-1, fill_value=end).over("flow").clip(lower_bound=start).alias("to"),
    )
    spans = rows.with_columns((pl.col("to") - pl.col("from")).alias("span")).filter(pl.col("span") > 0)
    means = spans.group_by("flow").agg((pl.col("target_bps") * pl.col("span")).sum() / pl.col("span").sum())
    return {int(flow): float(mean) for flow, mean in means.sort("flow").iter_rows()}


def utilisation(result: Result, steps: Sequence[Step], flows: Sequence[int] | None = None) -> float:
    """Return the minimum, over the steps, of total target divided by available rate in the step's second half."""
    shares = []
    for start, end, available_bps in steps:
        found = targets(result, (start + end) / 2, end)
        shares.append(sum(bps for flow, bps in found.items() if flows is None or flow in flows) / available_bps)
    return min(shares)


def losses(result: Result, steps: Sequence[Step], flows: Sequence[int] | None = None) -> float:
    """Return the maximum loss ratio in the second half of a step."""
    shares = []
    for start, end, _ in steps:
        lost, arrived = reports(result, (start + end) / 2, end, flows).select("lost", "arrived").sum().row(0)
        shares.append(lost / (lost + arrived) if lost + arrived else 0.0)
    return float(max(shares))


def fairness(result: Result, start: float, end: float) -> float:
    """Return Jain's index of the mean targets in a time range."""
    return float(_core.jain(list(targets(result, start, end).values())))


def holds_for_a_second(found: pl.DataFrame, good: pl.Expr, start: float) -> float:
    """Return the time from `start` until reports are good for a second, or until the last report."""
    begun = None
    rows = found.select("time_s", good.alias("good")).rows()
    for time, is_good in rows:
        begun = (time if begun is None else begun) if is_good else None
        if begun is not None and time - begun >= 1:
            return float(begun - start)
    return float(rows[-1][0] - start)


def rise(result: Result, start: float, end: float, min_bps: float, flow: int = 0) -> float:
    """Return seconds from `start` until a flow's target stays at or above `min_bps` for a second."""
    return holds_for_a_second(reports(result, start, end, [flow]), pl.col("target_bps") >= min_bps, start)


def fall(result: Result, start: float, end: float, max_ms: float) -> float:
    """Return seconds from `start` until the queueing delay stays below `max_ms` for a second."""
    return holds_for_a_second(reports(result, start, end), pl.col("queueing_ms") < max_ms, start)


def delay(result: Result, start: float = 0.0, end: float = float("inf"), flows: Sequence[int] | None = None) -> float:
    """Return the 95 % quantile of the reported mean queueing delays, weighted by packets."""
    found = reports(result, start, end, flows).sort("queueing_ms")
    counts = found["arrived"].cum_sum()
    return float(found["queueing_ms"][int((counts < 0.95 * counts[-1]).sum())])


def late_frame_share(result: Result) -> float | None:
    """Share of all calls' frames that were late or incomplete."""
    found = [one["media"] for one in result.totals["groups"] if one.get("media")]
    made = sum(one["frames"] for one in found)
    return 1 - sum(one["frames_whole"] - one["frames_late"] for one in found) / made if made else None


def worst_queueing_delay(result: Result) -> float | None:
    """95th percentile of the queueing delay in ms: the maximum over the call groups."""
    found = [one["media"]["queueing_ms"]["p95"] for one in result.totals["groups"] if one.get("media")]
    return max((float(one) for one in found if one is not None), default=None)


def by_fair_share(result: Result) -> float | None:
    """Received rate of the calls, relative to a fair share with bulk flows, capped at the calls' maximum rate."""
    flows = result.scenario.document["flows"]
    calls = [place for place, flow in enumerate(flows) if flow["kind"] == "media" and _is_forward(flow)]
    count = sum(int(flows[place].get("count", 1)) for place in calls)
    if not count:
        return None
    others = sum(int(flow.get("count", 1)) for flow in flows if flow["kind"] == "tcp" and "size" not in flow)
    most = sum(bits_per_second(flows[place]["max_rate"]) * int(flows[place].get("count", 1)) for place in calls)
    begin, end = result.warmup_s, result.duration_s
    fair = 0.0
    for start, until, bps in _capacities(result.setup, end):
        fair += max(0.0, until - max(start, begin)) * min(bps * count / (count + others), most)
    got = sum(float(result.totals["groups"][place]["media"]["received_bps"]) for place in calls)
    return got * (end - begin) / fair


def _is_forward(flow: Mapping[str, Any]) -> bool:
    return str(flow.get("direction", "forward")) == "forward"


def _capacities(link: Mapping[str, Any], end: float) -> list[Step]:
    """Rates of a link, each with its start and end."""
    if "@" not in link["rate"]:
        return [(0.0, end, bits_per_second(link["rate"]))]
    begins = [seconds(time) for _, time in schedule(link["rate"])]
    return list(zip(begins, [*begins[1:], end], rates(link["rate"]), strict=True))
