"""Hosts of a scenario's sources, for engines with addresses of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sojourn import _core

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def hosts_of(document: Mapping[str, Any]) -> npt.NDArray[np.uint32]:
    """Numbers of the hosts of each source of a canonical scenario: a row of its own and its sink's."""
    return _core.hosts(json.dumps(document))
