"""Warnings about set-ups that are valid but cannot have an effect, such as marking where no flow uses ECN."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sojourn.aqms.spelling import spelled_aqm

if TYPE_CHECKING:
    from sojourn.scenarios.scenario import Scenario


def advice(scenarios: Iterable[Scenario]) -> list[str]:
    """Sentences about scenarios that belong together, each once: queue managers that mark where no flow uses ECN."""
    idle: dict[str, bool] = {}
    for scenario in scenarios:
        uses_ecn = any(flow.get("ecn") for flow in scenario.document["flows"])
        for table in scenario.aqm_tables.values():
            if table.get("ecn") or "ecn" in str(table["name"]):
                aqm = spelled_aqm(table)
                if _ASKED.search(aqm):
                    idle[aqm] = idle.get(aqm, True) and not uses_ecn
    marking = [aqm for aqm, is_idle in idle.items() if is_idle]
    if not marking:
        return []
    asks = "asks" if len(marking) == 1 else "ask"
    remedy = 'let flows use it: ecn = true in [[flows]], "--ecn" of sojourn compare'
    return [f"{', '.join(marking)} {asks} for ECN, which no flow uses, so packets are dropped and not marked; {remedy}"]


_ASKED = re.compile(r"(^|[\s(])ecn($|[\s)])")
"""Where a queue manager is told to mark, beyond the default of its profile."""
