"""What is told of an episode that is over."""

from __future__ import annotations

import json
from typing import Any


def ending(summary: str | None) -> dict[str, Any]:
    """Entries of `info`: `summary`, what `sojourn run` prints, and its `fingerprint`; else nothing.

    `summary`: the JSON text that the core gives for the end of an episode.
    """
    if summary is None:
        return {}
    found = json.loads(summary)
    return {"summary": found, "fingerprint": found["fingerprint"]}
