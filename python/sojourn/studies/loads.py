"""Loads of a comparison: every combination of rates, round-trip times, numbers of flows and congestion controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.model.analysis.labels import word
from sojourn.model.aqms.spelling import shown
from sojourn.model.scenarios.scenario import Scenario

PATHS = {"rate": "link.rate", "rtt": "flows.0.rtt", "flows": "flows.0.count", "cc": "flows.0.cc"}
"""Keys of a scenario by the names of the varying parameters."""


@dataclass(frozen=True)
class Load:
    """Rate, round-trip time, number of flows and congestion control of some runs.

    Without a rate the link follows a trace; without a control the flows have that of scenarios.
    """

    rate: str | None
    rtt: str
    flows: int
    cc: object


def load_scenarios(
    rate: str | Sequence[str] | None,
    rtt: str | Sequence[str],
    flows: int | Sequence[int],
    cc: object,
    make: Callable[[Load], Scenario],
) -> tuple[list[Scenario], list[dict[str, Any]]]:
    """Scenario of every load, with the control varying fastest, and the varying values by name."""
    given = {"rate": _values(rate), "rtt": _values(rtt), "flows": _values(flows), "cc": _values(cc)}
    for name, values in given.items():
        if not values:
            raise InputError(f"{name}: an empty list; give at least one value")
    varied = [name for name, values in given.items() if len(values) > 1]
    loads = [Load(*values) for values in product(*given.values())]
    scenarios = [make(load) for load in loads]
    rows = [_spelled(load, scenario, varied) for load, scenario in zip(loads, scenarios, strict=True)]
    if twice := next((label(row) for at, row in enumerate(rows) if row in rows[:at]), None):
        raise InputError(f"{', '.join(varied)}: {twice} is given twice; leave one out")
    return scenarios, rows


def label(varied: Mapping[str, Any]) -> str:
    """Name of a load by its varying values: "4 flows, rtt 40 ms"; empty if nothing varies."""
    return ", ".join(word(PATHS[name], value) for name, value in varied.items())


def merged_values(documents: Sequence[Any]) -> Any:
    """Common content of documents; different values are joined, "4 | 64"."""
    first = documents[0]
    if all(one == first for one in documents):
        return first
    if isinstance(first, dict):
        return {
            key: merged_values([one[key] for one in documents]) for key in first if all(key in one for one in documents)
        }
    if isinstance(first, list):
        return [merged_values(parts) for parts in zip(*documents, strict=False)]
    return " | ".join(dict.fromkeys(str(one) for one in documents))


def _values(given: Any) -> list[Any]:
    return list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]


def _spelled(load: Load, scenario: Scenario, names: Sequence[str]) -> dict[str, Any]:
    """Values in the spelling of scenarios."""
    values = {
        "rate": scenario.bottleneck.get("rate"),
        "rtt": f"{_core.duration_ns(load.rtt) / 1e6:g} ms",
        "flows": load.flows,
        "cc": shown(str(scenario.document["flows"][0].get("cc"))),
    }
    return {name: values[name] for name in names}
