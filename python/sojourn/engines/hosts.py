"""Hosts of a scenario's sources, for engines with addresses of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from sojourn import _core

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def hosts_of(document: Mapping[str, Any]) -> npt.NDArray[np.uint32]:
    """Numbers of the hosts of each source of a canonical scenario: a row of its own and its sink's."""
    return _core.hosts(json.dumps(document))


def homes_of(document: Mapping[str, Any]) -> list[list[tuple[int, int]]]:
    """Hosts of each source of each group: the one at home, which forward data is sent to, and the one beyond."""
    rows = iter(hosts_of(document).tolist())
    return [
        [(sink, source) if flow["direction"] == "forward" else (source, sink) for source, sink in members]
        for flow in document["flows"]
        for members in [list(islice(rows, flow["count"]))]
    ]
