"""The congestion controls of the registry, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.aqms.registry import registry
from sojourn.base.errors import unknown


def find(name: str) -> dict[str, Any]:
    """Registry entry of a congestion control; raises `InputError` if there is none of that name."""
    entries = {entry["name"]: entry for entry in registry()["ccs"]}
    if name not in entries:
        raise unknown("congestion control", name, list(entries))
    found = entries[name]
    assert isinstance(found, dict)
    return found


def constant_text(constant: Mapping[str, Any]) -> str:
    """A constant's value with its unit: `819 / 1024`, `100 ms`."""
    return f"{constant['value']} {constant['unit']}".strip()


def stacks_text(entry: Mapping[str, Any]) -> str:
    """The stacks that a control runs in, as a sentence."""
    if len(entry["stacks"]) == len(registry()["stacks"]):
        return "It runs in every stack."
    return f"It runs in {' and '.join(entry['stacks'])}."
