"""ns-2's TCP: which agent a flow group has, and its sizes in segments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from sojourn.engines.values import octets
from sojourn.ns2.refuse import refuse

WINDOW, INITIAL_WINDOW = 20, 2
"""`window_` and `windowInit_`, in segments, where the scenario says nothing."""
Kind = TypeVar("Kind")


def agent(place: str, flow: Mapping[str, Any], kinds: Mapping[tuple[str, bool], Kind]) -> Kind:
    """Choose one of `kinds` by congestion control and `sack`; refused where ns-2 has no such sender."""
    if flow["stack"] != "ns2":
        refuse(f"{place}.stack", f"has ns-2's TCP, not {flow['stack']}", 'write stack = "ns2"')
    kind = kinds.get((flow["cc"], flow["sack"]))
    if kind is None:
        refuse(f"{place}.cc", f"does not send {flow['cc']}", "choose reno or newreno")
    if "gro" in flow:
        refuse(f"{place}.gro", "has packets only", "leave it out")
    return kind


def windows(place: str, flow: Mapping[str, Any]) -> tuple[int, int, int]:
    """Bytes of payload in a full segment, and the largest and the initial window in segments."""
    mss = octets(f"{place}.mss", flow["mss"])
    window = octets(f"{place}.receive_window", flow["receive_window"]) // mss if flow.get("receive_window") else WINDOW
    if window < 1:
        refuse(f"{place}.receive_window", "counts segments", f'write at least "{mss} B"')
    return mss, window, flow.get("initial_window") or INITIAL_WINDOW
