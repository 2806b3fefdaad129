"""Data of a scenario that no queue manager can have."""

from __future__ import annotations

from typing import Any

from sojourn.model.scenarios.scenario import Scenario


def privileged(scenario: Scenario) -> dict[str, Any]:
    """Link and flow groups as in the scenario: `link` without its queue, and all keys of each group in `flows`."""
    link = {key: value for key, value in scenario.bottleneck.items() if key not in ("aqm", "limit")}
    return {"link": link, "flows": scenario.document["flows"]}
