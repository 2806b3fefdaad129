"""Flow groups in words and as rows: traffic, goodput, round-trip times, delays, losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sojourn.model.aqms.spelling import shown

if TYPE_CHECKING:
    from sojourn.model.results.result import Result

COLUMNS = ("goodput_bps", "rtt_ms", "delay_ms", "resent", "loss_rate")


def group_name(flow: Mapping[str, Any]) -> str:
    """Flow group by number, congestion control and direction: `2 tcp cubic`, `voice reverse`, `tcp bbr over quinn`."""
    count = int(flow.get("count", 1))
    stack = str(flow.get("stack", ""))
    words = [str(count)] if count > 1 else []
    words += [str(flow["kind"]), shown(str(flow.get("cc") or flow.get("control") or ""))]
    words += ["over", stack] if stack.startswith("qui") else []
    words += ["reverse"] if flow.get("direction") == "reverse" else []
    return " ".join(filter(None, words))


def traffic(flows: Sequence[Mapping[str, Any]], groups: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row per flow group: its name in `flows`, and `COLUMNS`.

    `rtt_ms` is the mean of the round-trip times that senders measured, `delay_ms` the mean one-way delay of datagrams.
    `resent` is the share of retransmitted segments over the whole run; `loss_rate` the loss ratio of datagrams.
    """
    names = [group_name(flow) for flow in flows]
    return [
        {
            "flows": f"flows.{number}: {name}" if names.count(name) > 1 else name,
            "goodput_bps": group["goodput_bps"],
            "rtt_ms": group.get("rtt_ms"),
            "delay_ms": group.get("delay_ms"),
            "resent": _resent(flow, group),
            "loss_rate": group.get("loss_rate"),
        }
        for number, (name, flow, group) in enumerate(zip(names, flows, groups, strict=True))
    ]


def flow_name(result: Result, flow: int) -> str:
    """Name a flow by its congestion control, with its number if the run has several flows of that control."""
    controls = [_control(result, number) for number in range(len(result.totals["flows"]))]
    if flow >= len(controls):
        return f"flow {flow}"
    return controls[flow] if controls.count(controls[flow]) == 1 else f"{controls[flow]} (flow {flow})"


def _control(result: Result, flow: int) -> str:
    group = result.scenario.document["flows"][result.totals["flows"][flow]["group"]]
    return shown(str(group.get("cc") or group.get("control") or group["kind"]))


def _resent(flow: Mapping[str, Any], group: Mapping[str, Any]) -> float | None:
    if "cc" not in flow or not group.get("sent"):
        return None
    return float(group["retransmissions"]) / float(group["sent"])
