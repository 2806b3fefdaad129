"""The core's registry: queue managers with their parameters, TCP stacks, congestion controls, kinds of traffic."""

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
"""Flag that nearly every queue manager has."""
INSIDE = "inside"
"""Argument for the content of a classful qdisc's braces."""


@cache
def registry() -> dict[str, Any]:
    """The whole registry: AQMs, TCP stacks, congestion controls, kinds of traffic."""
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
    """Names of the classes."""
    return [class_name(entry) for entry in registry()["aqms"]]


def class_name(entry: Mapping[str, Any]) -> str:
    """Class name of a registry entry: fq_codel is FqCodel."""
    return "".join(part.capitalize() for part in str(entry["name"]).split("_"))


def parameter_names(entry: Mapping[str, Any]) -> list[str]:
    """Parameter names of a registry entry."""
    return [*(str(param["name"]) for param in entry["params"]), *([EXCLUDE_CE] if entry[EXCLUDE_CE] else [])]


def argument(name: str) -> str:
    """Keyword argument of a parameter; Python's reserved words get a trailing underscore, `raise_`."""
    return f"{name}_" if iskeyword(name) else name


def parsed(aqm: str, base: Path | str = "/") -> dict[str, Any]:
    """Parse a queue manager, given in tc's spelling or as a JSON table, with the core.

    A class in Python or a library is looked up from the folder `base`, and loaded.
    """
    found: dict[str, Any] = json.loads(_core.parse_aqm(aqm, str(base)))
    return found


def parameters(table: Mapping[str, Any]) -> dict[str, Any]:
    """Every parameter of a queue manager of a canonical scenario, including the inner one of fq(…)."""
    text = json.dumps(table)
    found: dict[str, Any] = (parsed(text) if references(table) else _registered(text))["parameters"]
    return found


@cache
def _registered(table: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_core.parse_aqm(table, read=False))
    return found


def own_parameters(scenario: Scenario) -> dict[str, dict[str, Any]]:
    """Parameters of every queue manager in Python in a scenario, by path of the AQM; loads the classes."""
    return {path: parameters(table) for path, table in scenario.aqm_tables.items() if references(table)}
