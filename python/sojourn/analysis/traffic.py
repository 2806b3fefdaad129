"""Groups of flows in words and as rows: which traffic, its goodput, its round trips and delays, its losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

COLUMNS = ("goodput_bps", "rtt_ms", "delay_ms", "resent", "loss_rate")


def group_name(flow: Mapping[str, Any]) -> str:
    """A group of flows by number, control and direction: `2 tcp cubic`, `voice reverse`, `tcp bbr over quinn`."""
    count = int(flow.get("count", 1))
    stack = str(flow.get("stack", ""))
    words = [str(count)] if count > 1 else []
    words += [str(flow["kind"]), str(flow.get("cc") or flow.get("control") or "")]
    words += ["over", stack] if stack.startswith("qui") else []
    words += ["reverse"] if flow.get("direction") == "reverse" else []
    return " ".join(filter(None, words))


def traffic(flows: Sequence[Mapping[str, Any]], groups: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """One row per group of flows: its name in `flows` and `COLUMNS`.

    `rtt_ms` is the mean of the round-trip times that senders measured, `delay_ms` the mean one-way delay of datagrams.
    `resent` is the share of segments sent again, over the whole run; `loss_rate` that of datagrams lost.
    """
    names = [group_name(flow) for flow in flows]
    rows = [
        {
            "flows": f"flows.{number}: {name}" if names.count(name) > 1 else name,
            "goodput_bps": group["goodput_bps"],
            "rtt_ms": group.get("rtt_ms"),
            "delay_ms": group["delay_ms"],
            "resent": _resent(flow, group),
            "loss_rate": group["loss_rate"],
        }
        for number, (name, flow, group) in enumerate(zip(names, flows, groups, strict=True))
    ]
    return pl.DataFrame(rows, schema={"flows": pl.String, **dict.fromkeys(COLUMNS, pl.Float64)})


def _resent(flow: Mapping[str, Any], group: Mapping[str, Any]) -> float | None:
    if "cc" not in flow or not group["sent"]:
        return None
    return float(group["retransmissions"]) / float(group["sent"])
