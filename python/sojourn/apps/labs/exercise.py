"""Exercises as described in their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.base.errors import InputError
from sojourn.base.inputs import parse_toml, read_text
from sojourn.model.scenarios.scenario import Scenario


@dataclass(frozen=True)
class Exercise:
    """Goals of an exercise, and the keys that may be changed."""

    number: int
    title: str
    free: tuple[str, ...]
    """Keys that may be changed; all others of the scenario stay."""
    aqms: tuple[str, ...]
    """Names of permitted queue managers; empty permits all."""
    goals: tuple[str, ...]
    """Conditions of `sojourn hunt`."""
    settings: tuple[Mapping[str, Any], ...]
    """Keys with values: every goal must be true under each of them."""
    seeds: tuple[int, ...]
    start: str
    """The initial scenario, as a text."""

    def accepted(self, path: Path) -> Scenario:
        """Return a solution. Raises `InputError` if it differs in keys that may not be changed."""
        found, start = Scenario.load(path), Scenario.parse(self.start)
        solution, required = _without(found.document, self.free), _without(start.document, self.free)
        for key in sorted(solution.keys() | required.keys()):
            if solution.get(key) != required.get(key):
                raise InputError(f"{path}: {key} differs from the exercise; change only {', '.join(self.free)}")
        used = found.at("link.aqm.name")
        if self.aqms and used not in self.aqms:
            raise InputError(f"{path}: link.aqm: {used} is not for this exercise; use {' or '.join(self.aqms)}")
        return found


def exercises() -> dict[int, Path]:
    """Return the files of all exercises by their numbers."""
    return {int(path.name.partition("-")[0]): path for path in sorted(Path(__file__).parent.glob("*.toml"))}


def exercise(number: int) -> Exercise:
    """Read an exercise. Raises `InputError` for an unknown number."""
    files = exercises()
    if number not in files:
        raise InputError(f"unknown exercise {number}; expected {min(files)} to {max(files)}")
    about = parse_toml(read_text(files[number]))
    return Exercise(
        number,
        about["title"],
        tuple(about["free"]),
        tuple(about.get("aqms", ())),
        tuple(about["goals"]),
        tuple(about.get("settings", ({},))),
        tuple(about["seeds"]),
        about["start"],
    )


def spelled_keys(setting: Mapping[str, Any]) -> str:
    """Return keys with their values, in one line."""
    return ", ".join(f"{key} = {value}" for key, value in setting.items())


def _without(document: Any, free: tuple[str, ...], path: str = "") -> dict[str, Any]:
    """The values of a scenario by dotted path, without free keys, its name and its seed."""
    if path in {*free, "name", "seed"}:
        return {}
    inside = dict(enumerate(document)) if isinstance(document, list) else document
    if not isinstance(inside, dict):
        return {path: document}
    found: dict[str, Any] = {}
    for key, value in inside.items():
        found |= _without(value, free, f"{path}.{key}" if path else str(key))
    return found
