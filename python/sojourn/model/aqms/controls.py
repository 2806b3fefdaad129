"""Congestion controls of the registry, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.base.errors import known_name
from sojourn.model.aqms.registry import registry


def find(name: str) -> dict[str, Any]:
    """Registry entry of a congestion control, by name or alias; raises `InputError` if there is none."""
    entries = {entry["name"]: entry for entry in registry()["ccs"]}
    entries |= {entry["alias"]: entry for entry in registry()["ccs"] if entry["alias"]}
    found = entries[known_name("congestion control", name, entries)]
    assert isinstance(found, dict)
    return found


def constant_text(constant: Mapping[str, Any]) -> str:
    """A constant's value with its unit: `819 / 1024`, `100 ms`."""
    return f"{constant['value']} {constant['unit']}".strip()


def heading(entry: Mapping[str, Any]) -> str:
    """Name of a control, with its alias."""
    return f"{entry['name']} ({entry['alias']})" if entry["alias"] else str(entry["name"])


def stacks_text(entry: Mapping[str, Any]) -> str:
    """Stacks that a control runs in, as a sentence."""
    if len(entry["stacks"]) == len(registry()["stacks"]):
        return "It runs in every stack."
    return f"It runs in {' and '.join(entry['stacks'])}."
