"""Warnings about settings that are valid but have no effect: marking if no flow uses ECN, unused links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sojourn.model.aqms.spelling import spelled_aqm

if TYPE_CHECKING:
    from sojourn.model.scenarios.scenario import Scenario


def advice(scenarios: Iterable[Scenario]) -> list[str]:
    """Sentences, without duplicates, about settings that have no effect in any of the scenarios."""
    together = list(scenarios)
    return [*_marking_in_vain(together), *_unused_links(together)]


def _unused_links(scenarios: Sequence[Scenario]) -> list[str]:
    """A sentence for each link that no flow crosses in any of the scenarios, with data or acknowledgments."""
    used: dict[str, bool] = {}
    for scenario in scenarios:
        crossed = {name for route in scenario.routes for direction in route for name in direction}
        for path, names in _paths_of_links(scenario).items():
            used[path] = used.get(path, False) or not crossed.isdisjoint(names)
    remedy = "name it in a route of [[flows]], or leave it out"
    return [
        f"{path}: is on no flow's route, so nothing passes it; {remedy}"
        for path, is_used in used.items()
        if not is_used
    ]


def _paths_of_links(scenario: Scenario) -> dict[str, tuple[str, str]]:
    """Names of both directions of each link, by its path in the file; empty for a wireless LAN alone."""
    if "wlan" in scenario.document:
        return {}
    names = list(scenario.links)
    pairs = list(zip(names[::2], names[1::2], strict=True))
    listed = [f"links.{number} ({hop['name']})" for number, hop in enumerate(scenario.document.get("links", []))]
    return dict(zip([*([] if scenario.is_graph else ["link"]), *listed], pairs, strict=True))


def _marking_in_vain(scenarios: Sequence[Scenario]) -> list[str]:
    """A sentence for each queue manager with marking enabled if no flow uses ECN."""
    idle: dict[str, bool] = {}
    for scenario in scenarios:
        uses_ecn = any(_may_use_ecn(flow) for flow in scenario.document["flows"])
        for table in scenario.aqm_tables.values():
            if table.get("ecn") or "ecn" in str(table["name"]):
                aqm = spelled_aqm(table)
                if _MARKING.search(aqm):
                    idle[aqm] = idle.get(aqm, True) and not uses_ecn
    marking = [aqm for aqm, is_idle in idle.items() if is_idle]
    if not marking:
        return []
    asks = "asks" if len(marking) == 1 else "ask"
    remedy = 'let flows use it: ecn = true in [[flows]], "--ecn" of sojourn compare'
    return [f"{', '.join(marking)} {asks} for ECN, which no flow uses, so packets are dropped and not marked; {remedy}"]


def _may_use_ecn(flow: Mapping[str, Any]) -> bool:
    """Whether packets of a flow may be ECN-capable: by its key, its control, or code and captures that decide it."""
    ecn, cc = flow.get("ecn"), flow.get("cc", "")
    if flow["kind"] in ("pcap", "endpoint") or ecn not in (None, False, "not-ect"):
        return True
    if ecn is None and flow["kind"] == "media":
        return str(flow["control"]).startswith("scream")
    name = str(cc["name"] if isinstance(cc, Mapping) else cc).split(" ")[0]
    return name.partition("@")[0] in _ECN_CONTROLS or bool(re.search(r"[/:]", name))


_ECN_CONTROLS = ("dctcp", "prague")
"""Congestion controls that negotiate ECN by themselves."""
_MARKING = re.compile(r"(^|[\s(])ecn($|[\s)])")
"""A spelling that enables marking explicitly, beyond the profile's default."""
