"""What the core registers: queue managers with their parameters, TCP stacks, congestion controls, kinds of traffic."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import _core
from sojourn.base.errors import known_name
from sojourn.model.aqms.spelling import references

if TYPE_CHECKING:
    from sojourn.model.scenarios.scenario import Scenario

EXCLUDE_CE = "exclude_ce"
"""The flag of nearly every queue manager."""
INSIDE = "inside"
"""What a class takes for the braces of a discipline that holds others."""


@cache
def registry() -> dict[str, Any]:
    """All that the core registers: AQMs, TCP stacks, congestion controls, kinds of traffic."""
    found = json.loads(_core.registry())
    assert isinstance(found, dict)
    return found


def find(name: str) -> dict[str, Any]:
    """Registry entry of an algorithm."""
    entries = {entry["name"]: entry for entry in registry()["aqms"]}
    found = entries[known_name("AQM", name, entries)]
    assert isinstance(found, dict)
    return found


def class_names() -> list[str]:
    """Names under which the classes are found."""
    return [class_name(entry) for entry in registry()["aqms"]]


def class_name(entry: Mapping[str, Any]) -> str:
    """Name of the class of an entry of the registry: fq_codel is FqCodel."""
    return "".join(part.capitalize() for part in str(entry["name"]).split("_"))


def parameter_names(entry: Mapping[str, Any]) -> list[str]:
    """Names of the parameters of an entry of the registry."""
    return [*(str(param["name"]) for param in entry["params"]), *([EXCLUDE_CE] if entry[EXCLUDE_CE] else [])]


def argument(name: str) -> str:
    """Name of a parameter in a call: one that Python keeps for itself has an underscore behind it, `raise_`."""
    return f"{name}_" if iskeyword(name) else name


def parsed(aqm: str, base: Path | str = "/") -> dict[str, Any]:
    """What the core knows of a queue manager, given in tc's spelling or as a JSON table.

    A class in Python or a library is looked for from the folder `base`, and loaded.
    """
    found: dict[str, Any] = json.loads(_core.parse_aqm(aqm, str(base)))
    return found


def parameters(table: Mapping[str, Any]) -> dict[str, Any]:
    """Every parameter of a queue manager of a canonical scenario, also of the one in brackets of fq."""
    text = json.dumps(table)
    found: dict[str, Any] = (parsed(text) if references(table) else _registered(text))["parameters"]
    return found


@cache
def _registered(table: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_core.parse_aqm(table, read=False))
    return found


def own_parameters(scenario: Scenario) -> dict[str, dict[str, Any]]:
    """The same of every queue manager in Python of a scenario, by path of the AQM; loads them."""
    return {path: parameters(table) for path, table in scenario.aqm_tables.items() if references(table)}
