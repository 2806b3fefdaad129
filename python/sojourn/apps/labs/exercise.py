"""Exercises as they are in their files."""

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
    """What has to be reached, and what may be changed for it."""

    number: int
    title: str
    free: tuple[str, ...]
    """Keys that may be changed; all others of the scenario stay."""
    aqms: tuple[str, ...]
    """Names of queue managers that may be used; without any, all."""
    goals: tuple[str, ...]
    """Sentences of `sojourn hunt`."""
    settings: tuple[Mapping[str, Any], ...]
    """Keys with values: under each of them every goal has to be true."""
    seeds: tuple[int, ...]
    start: str
    """The scenario to begin with, as a text."""

    def accepted(self, path: Path) -> Scenario:
        """Return a solution. Raises `InputError` where it differs in what may not be changed."""
        found, start = Scenario.load(path), Scenario.parse(self.start)
        mine, given = _without(found.document, self.free), _without(start.document, self.free)
        for key in sorted(mine.keys() | given.keys()):
            if mine.get(key) != given.get(key):
                raise InputError(f"{path}: {key} is not what the exercise has; change only {', '.join(self.free)}")
        used = found.at("link.aqm.name")
        if self.aqms and used not in self.aqms:
            raise InputError(f"{path}: link.aqm: {used} is not for this exercise; use {' or '.join(self.aqms)}")
        return found


def exercises() -> dict[int, Path]:
    """Return the files of all exercises by their numbers."""
    return {int(path.name.partition("-")[0]): path for path in sorted(Path(__file__).parent.glob("*.toml"))}


def exercise(number: int) -> Exercise:
    """Read an exercise. Raises `InputError` for a number that none has."""
    files = exercises()
    if number not in files:
        raise InputError(f"exercise {number} is unknown; there are {min(files)} to {max(files)}")
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
    """Return keys with their values, as a line has them."""
    return ", ".join(f"{key} = {value}" for key, value in setting.items())


def _without(document: Any, free: tuple[str, ...], path: str = "") -> dict[str, Any]:
    """The values of a scenario by their dotted paths, without those that are free, its name and its seed."""
    if path in {*free, "name", "seed"}:
        return {}
    inside = dict(enumerate(document)) if isinstance(document, list) else document
    if not isinstance(inside, dict):
        return {path: document}
    found: dict[str, Any] = {}
    for key, value in inside.items():
        found |= _without(value, free, f"{path}.{key}" if path else str(key))
    return found
