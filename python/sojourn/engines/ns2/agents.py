"""Agents in ns-2: the nodes of a flow group's endpoints, its TCP agent, and its windows in segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sojourn.engines.ns2.refuse import refuse
from sojourn.engines.values import octets

WINDOW, INITIAL_WINDOW = 20, 2
"""Defaults of `window_` and `windowInit_`, in segments."""
Kind = TypeVar("Kind")
PlannedSources = Sequence[tuple[int, Mapping[str, Any]]]
"""Sources of a group: number and planned times."""


@dataclass(frozen=True)
class EndNodes:
    """Nodes of a group's sources and sinks, in Tcl."""

    near: str
    """Router of the sources."""
    sink: str
    """Node of the sinks."""
    access: str
    """Rate and delay of a source's access link, and its host."""

    @property
    def source(self) -> str:
        """Arguments of the Tcl procedure `home`, which returns a source's node."""
        return f"{self.near} {self.access}"

    @property
    def both(self) -> str:
        """Arguments of the Tcl procedure `join` after the agents."""
        return f"{self.near} {self.sink} {self.access}"


def agent(place: str, flow: Mapping[str, Any], kinds: Mapping[tuple[str, bool], Kind]) -> Kind:
    """Entry of `kinds` for the congestion control and `sack`; raises `InputError` if ns-2 has no such sender."""
    if flow["stack"] != "ns2":
        refuse(f"{place}.stack", f"has ns-2's TCP, not {flow['stack']}", 'write stack = "ns2"')
    kind = kinds.get((flow["cc"], flow["sack"]))
    if kind is None:
        refuse(f"{place}.cc", f"does not send {flow['cc']}", "choose reno or newreno")
    if "gro" in flow:
        refuse(f"{place}.gro", "has no super-packets", "leave it out")
    return kind


def windows(place: str, flow: Mapping[str, Any]) -> tuple[int, int, int]:
    """MSS in bytes, and the maximum and the initial window in segments."""
    mss = octets(f"{place}.mss", flow["mss"])
    window = octets(f"{place}.receive_window", flow["receive_window"]) // mss if flow.get("receive_window") else WINDOW
    if window < 1:
        refuse(f"{place}.receive_window", "counts windows in segments", f'write at least "{mss} B"')
    return mss, window, flow.get("initial_window") or INITIAL_WINDOW
