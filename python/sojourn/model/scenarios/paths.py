"""Links that flows cross."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from sojourn import _core


class FlowPaths(NamedTuple):
    """Numbers of the links that a flow's packets cross, in order."""

    data: list[int]
    acks: list[int]


def paths(document: Mapping[str, Any]) -> list[FlowPaths]:
    """Numbers of the links that data and ACKs of each flow group of a canonical scenario cross; none under `[wlan]`.

    Reads only the keys that determine the paths, because trace files and queue managers may be gone by now.
    """
    if "wlan" in document or not document["flows"]:
        return [FlowPaths([], []) for _ in document["flows"]]

    def bare(link: Mapping[str, Any]) -> dict[str, Any]:
        return {"rate": "1 Mbit/s", "delay": link["delay"]}

    def served(hop: Mapping[str, Any]) -> dict[str, Any]:
        if "wlan" in hop:
            return {"wlan": {"stations": [{}]}}
        return bare(hop) | {"reverse": bare(hop["reverse"])}

    ends = ("name", "from", "to")
    links = [{key: hop[key] for key in ends if key in hop} | served(hop) for hop in document.get("links", [])]
    kept = ("direction", "from", "to", "route", "return_route")
    flows = [{"kind": "tcp"} | {key: flow[key] for key in kept if key in flow} for flow in document["flows"]]
    form = {key: bare(document[key]) for key in ("link", "reverse") if key in document}
    form |= {key: document[key] for key in ("nodes",) if key in document}
    found = _core.paths(json.dumps({"duration": "1 s", **form, "links": links, "flows": flows}))
    return [FlowPaths(data, acks) for data, acks in found]
