"""Translation of a scenario's traffic to the input of the guest's program (guest/tool/traffic.c)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn import _core
from sojourn.engines.kernel.network import START_NS, FlowEndpoints
from sojourn.engines.kernel.refuse import refuse
from sojourn.engines.values import nanoseconds, octets
from sojourn.model.aqms.spelling import KERNEL_FILE

NEVER = 2**64 - 1
FIRST_PORT = 10_000
"""Source port of a source's first connection."""
UDP_IP_HEADERS, STAMP = 28, 16
ECT = {"not-ect": 0, "ect1": 1, "ect0": 2}
TIMESTAMPS = 12
"""Bytes of the timestamps option in every segment, which the kernel's MSS includes."""


@dataclass(frozen=True)
class Traffic:
    """Input of the guest's program."""

    text: str
    files: dict[str, bytes]
    flows: list[int | None]
    """Flow number of each source, or None if it opens short connections."""


def traffic(
    document: Mapping[str, Any], plan: Sequence[Mapping[str, Any]], ends: Sequence[FlowEndpoints], starts: Iterable[int]
) -> Traffic:
    """Write the traffic of a canonical scenario.

    `plan` has the times of each source, `starts` the start times of the statistics in ns.
    """
    files: dict[str, bytes] = {}
    flows: list[int | None] = []
    lines = []
    for index, (planned, at) in enumerate(zip(plan, ends, strict=True)):
        flow, place = document["flows"][at.group], f"flows[{at.group}]"
        is_long_lived = flow["kind"] != "web" and not flow.get("pause")
        flows.append(sum(one is not None for one in flows) if is_long_lived else None)
        number = -1 if flows[-1] is None else flows[-1]
        common = f"{at.source} {at.sink} {at.source_address} {at.sink_address} {at.group} {number}"
        words = _source(flow, place, planned, f"times.{index}")
        lines.append(f"{words[0]} {common} {words[1]}")
        if flow["kind"] in ("web", *DATAGRAMS):
            files[f"times.{index}"] = np.asarray(planned["times_ns"], np.uint64).tobytes()
    fixed = sum(one is not None for one in flows)
    end = nanoseconds("duration", document["duration"])
    step = document["probes"].get("flows")
    sampling = nanoseconds("probes.flows", step) if step else 0
    clock = f"clock {START_NS} {end} {sampling} {fixed} {len(document['flows'])}"
    sample_times = [f"look {at}" for at in starts if at]
    return Traffic("\n".join([clock, *sample_times, *lines, ""]), files, flows)


def _source(flow: Mapping[str, Any], place: str, planned: Mapping[str, Any], times: str) -> tuple[str, str]:
    """Command and parameters of a source."""
    kind = flow["kind"]
    if flow.get("middlebox"):
        refuse(f"{place}.middlebox", "has no middlebox on the path", "leave it out")
    if kind in DATAGRAMS:
        size = octets(f"{place}.size", flow["size"])
        if size < UDP_IP_HEADERS + STAMP:
            refuse(f"{place}.size", f"sends datagrams of at least {UDP_IP_HEADERS + STAMP} B", "raise it")
        return "datagrams", f"{size} {_tos(flow) | ECT[flow['ecn']]} {times}"
    if kind not in ("tcp", "web", "request"):
        refuse(f"{place}.kind", f"does not send {kind}", "choose tcp, web, request, cbr, poisson, streaming or voice")
    tcp = _tcp(flow, place)
    start, stop = planned["start_ns"], NEVER if planned["stop_ns"] is None else planned["stop_ns"]
    if kind == "tcp":
        size = octets(f"{place}.size", flow["size"]) if flow.get("size") else 0
        pause = nanoseconds(f"{place}.pause", flow["pause"]) if flow.get("pause") else -1
        return "bulk", f"{tcp} {start} {stop} {size} {pause}"
    request, size = (octets(f"{place}.{key}", flow[key]) for key in ("request", "size"))
    think = nanoseconds(f"{place}.think", flow["think"])
    if kind == "web":
        return "pages", f"{tcp} {request} {size} {think} {flow.get('at_once') or 2**32 - 1} {times}"
    return "ask", f"{tcp} {start} {stop} {request} {size} {think} {nanoseconds(f'{place}.gap', flow['gap'])}"


def _tcp(flow: Mapping[str, Any], place: str) -> str:
    """Congestion control, segment size and window. The running kernel's TCP is used, whichever Linux `stack` names."""
    if not flow["stack"].startswith("linux"):
        refuse(f"{place}.stack", f"has Linux's TCP, not {flow['stack']}", "choose linux-6.1")
    control = flow["cc"].removeprefix(KERNEL_FILE)
    if control == flow["cc"] and control not in CONTROLS:
        refuse(f"{place}.cc", f"does not have {control}", f"choose {', '.join(CONTROLS[:-1])} or {CONTROLS[-1]}")
    if not flow["delayed_ack"]:
        refuse(f"{place}.delayed_ack", "always delays acknowledgments", "leave it out")
    if "abc" in flow:
        refuse(f"{place}.abc", "has no appropriate byte counting", "leave it out")
    for key in ("pacing", "max_pacing_rate"):
        if key in flow:
            refuse(f"{place}.{key}", "leaves pacing to the congestion control", "leave it out")
    if "nagle" in flow:
        refuse(f"{place}.nagle", "delays small segments as Linux does", "leave it out")
    window = octets(f"{place}.receive_window", flow["receive_window"]) if flow.get("receive_window") else 0
    return f"{control} {octets(f'{place}.mss', flow['mss']) + TIMESTAMPS} {window} {_tos(flow)}"


def _tos(flow: Mapping[str, Any]) -> int:
    """TOS byte of both ends; TCP sets its own ECN bits."""
    return int(_core.dscp(flow["dscp"])) << 2 if flow.get("dscp") else 0


CONTROLS = (
    "reno",
    "cubic",
    "vegas",
    "westwood",
    "highspeed",
    "scalable",
    "htcp",
    "illinois",
    "bic",
    "yeah",
    "bbr",
    "dctcp",
)
DATAGRAMS = ("cbr", "poisson", "streaming", "voice")
