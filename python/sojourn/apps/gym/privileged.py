"""What a scenario says that no queue manager can know."""

from __future__ import annotations

from typing import Any

from sojourn.model.scenarios.scenario import Scenario


def privileged(scenario: Scenario) -> dict[str, Any]:
    """Link and flow groups as in the scenario: `link` without its queue, and of each group `flows` what it says."""
    link = {key: value for key, value in scenario.bottleneck.items() if key not in ("aqm", "limit")}
    return {"link": link, "flows": scenario.document["flows"]}
