"""Queue managers as Python classes, made from the registry of the core: one class per algorithm."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, ClassVar

from sojourn import _core
from sojourn.errors import InputError, unknown
from sojourn.scenario import spelled_aqm


class Aqm:
    """A configured queue manager; `text` is its spelling in files and on the command line."""

    algorithm: ClassVar[str] = ""

    def __init__(self, profile: str | None = None, **params: object) -> None:
        """Configure `profile` (None: the plain one) with parameters by name, e.g. ``target="5 ms"``."""
        known = [str(param["name"]) for param in find(self.algorithm)["params"]]
        for name in params:
            if name not in known:
                raise unknown(f"parameter of {self.algorithm}", name, known or ["none"])
        head = f"{self.algorithm}@{profile}" if profile else self.algorithm
        words = [word for name, value in params.items() for word in _words(name, value)]
        self.text: str = spelled_aqm(" ".join([head, *words]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aqm) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.text}>"


@cache
def registry() -> dict[str, Any]:
    """All that the core registers: AQMs, TCP stacks, congestion controls, kinds of traffic."""
    found = json.loads(_core.registry())
    assert isinstance(found, dict)
    return found


def find(name: str) -> dict[str, Any]:
    """Registry entry of an algorithm."""
    entries = {entry["name"]: entry for entry in registry()["aqms"]}
    if name not in entries:
        raise unknown("AQM", name, list(entries))
    found = entries[name]
    assert isinstance(found, dict)
    return found


@cache
def aqm_class(name: str) -> type[Aqm] | None:
    """Class called `name`: a registered name in any capitalisation, with or without underscores."""
    for entry in registry()["aqms"]:
        if entry["name"].replace("_", "") == name.lower():
            return type(name, (Aqm,), {"algorithm": entry["name"], "__doc__": _doc(entry), "__module__": "sojourn"})
    return None


def class_names() -> list[str]:
    """Names under which the classes are found."""
    return ["".join(part.capitalize() for part in entry["name"].split("_")) for entry in registry()["aqms"]]


def split_list(text: str) -> list[str]:
    """Split a list of AQMs at the commas that stand outside brackets: "codel,fq(pie)"."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    names = [part.strip() for part in parts]
    if not all(names):
        raise InputError(f'--aqm: "{text}" has an empty name; write e.g. "codel,pie"')
    return names


def _words(name: str, value: object) -> list[str]:
    if value is True:
        return [name]
    if value is False:
        return [f"no{name}"]
    return [name, str(value).replace(" ", "")]


def _doc(entry: dict[str, Any]) -> str:
    params = [f"    {p['name']}: {p['doc']} Default {p['default']}." for p in entry["params"]]
    return "\n".join(
        [f"{entry['summary']}.", "", f"Source: {entry['source']}.", "", "Parameters", "----------", *params]
    )
