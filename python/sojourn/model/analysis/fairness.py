"""Jain's index in words: of the bulk flows of one group, or of several groups by group number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def fairness(totals: Mapping[str, Any]) -> str:
    """Jain's index of a summary: `0.998`, `0.998 (flows.0), 0.871 (flows.2)`, or a dash without comparable flows.

    Comparable flows are bulk flows of one group: without end, rate or application limit.
    """
    groups = {number: group for number, group in enumerate(totals["groups"]) if group.get("jain") is not None}
    if totals["jain"] is not None and all(group["direction"] == "forward" for group in groups.values()):
        return f"{totals['jain']:.3f}"
    return ", ".join(f"{group['jain']:.3f} (flows.{number})" for number, group in groups.items()) or "–"
