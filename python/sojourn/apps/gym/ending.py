"""Information about a finished episode."""

from __future__ import annotations

import json
from typing import Any


def ending(summary: str | None) -> dict[str, Any]:
    """Entries of `info`: `summary`, as printed by `sojourn run`, and its `fingerprint`; empty without a summary.

    `summary`: the core's JSON text for the end of an episode.
    """
    if summary is None:
        return {}
    found = json.loads(summary)
    return {"summary": found, "fingerprint": found["fingerprint"]}
