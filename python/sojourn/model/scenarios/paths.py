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
    return [FlowPaths(data, acks) for data, acks in _core.paths(json.dumps(document))]
