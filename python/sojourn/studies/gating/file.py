"""The gate's file: worlds, seeds, budgets and the baseline, checked before anything runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.base.errors import InputError, unknown
from sojourn.base.inputs import parse_toml, read_text

MIN_SEEDS, MAX_SEEDS = 6, 1000
MAX_ENTRIES = 100
"""Maximum number of worlds, budgets or watches of a file."""
MAX_TEXT = 1000
"""Maximum number of characters of a sentence or command."""
EXAMPLE = 'say = "p99(sojourn) < 50 ms"'


@dataclass(frozen=True)
class Budget:
    """A sentence that must be true."""

    place: str
    say: str
    needed: int
    """Minimum number of the gate's seeds that make it true."""
    worlds: tuple[str, ...]
    """Names of its worlds; empty for all."""


@dataclass(frozen=True)
class Watch:
    """A number that may not become worse than in the baseline."""

    place: str
    what: str
    worse: str
    """Direction of a change for the worse, "up" or "down"."""
    by: str
    """Largest change that does not matter: a share of the baseline's median, or a quantity."""
    worlds: tuple[str, ...]
    """Names of its worlds; empty for all."""

    @property
    def sign(self) -> int:
        """Factor that makes a change for the worse positive."""
        return 1 if self.worse == "up" else -1


@dataclass(frozen=True)
class World:
    """A world of the gate."""

    name: str
    path: Path | None
    """Its scenario file; None if only the command knows it."""


@dataclass(frozen=True)
class GateFile:
    """A gate's file."""

    path: Path
    worlds: tuple[World, ...]
    """Empty for every world that the command writes."""
    seeds: int
    """Number of seeds, from 1 on."""
    command: str
    """Command that runs the tested program; empty if Sojourn simulates the worlds itself."""
    budgets: tuple[Budget, ...]
    baseline: Path | None
    watches: tuple[Watch, ...]

    @property
    def words(self) -> list[str]:
        """Words of the command."""
        return shlex.split(self.command)

    @classmethod
    def load(cls, path: Path) -> GateFile:
        """Read a file; raises `InputError` with the place and a remedy."""
        text = read_text(path)
        try:
            return _Reader(path, parse_toml(text)).file()
        except InputError as error:
            raise InputError(f"{path}: {error}") from None


@dataclass
class _Reader:
    path: Path
    document: dict[str, Any]

    def file(self) -> GateFile:
        document = self.document
        _known("", document, ("worlds", "seeds", "command", "budget", "baseline"))
        command = _text("command", document["command"], "cargo nextest run") if "command" in document else ""
        _check_words(command)
        worlds = self._worlds(command)
        seeds = _count("seeds", document.get("seeds", 20), MIN_SEEDS, MAX_SEEDS)
        names = tuple(world.name for world in worlds)
        budgets = tuple(_budgets(document.get("budget", []), seeds, names))
        baseline, watches = self._baseline(names)
        if not budgets and not watches:
            raise InputError(f"no budget and no baseline; write e.g. [[budget]] with {EXAMPLE}")
        return GateFile(self.path, worlds, seeds, command, budgets, baseline, watches)

    def _worlds(self, command: str) -> tuple[World, ...]:
        example = 'worlds = ["worlds/dsl.toml"]'
        if "worlds" not in self.document:
            if command:
                return ()
            raise InputError(f"worlds: missing; write e.g. {example}, or name the tested program with command")
        found: dict[str, World] = {}
        for place, text in _texts("worlds", self.document["worlds"], example):
            path = self.path.parent / text
            is_file = text.endswith(".toml")
            if not command and not is_file:
                raise InputError(f'{place}: "{text}" is not a scenario file; write e.g. {example}')
            name = path.stem if is_file else text
            if name in found:
                raise InputError(f'{place}: two worlds are called "{name}"; rename one of the files')
            found[name] = World(name, path if is_file else None)
        if not found:
            raise InputError(f"worlds: empty; write e.g. {example}")
        return tuple(found.values())

    def _baseline(self, names: Sequence[str]) -> tuple[Path | None, tuple[Watch, ...]]:
        if "baseline" not in self.document:
            return None, ()
        table = _table("baseline", self.document["baseline"])
        _known("baseline", table, ("file", "watch"))
        if "file" not in table:
            raise InputError('baseline.file: missing; write e.g. file = "gate.baseline.json"')
        file = _text("baseline.file", table["file"], "gate.baseline.json")
        watches = tuple(_watches(table.get("watch", []), names))
        if not watches:
            raise InputError('baseline: nothing is watched; write [[baseline.watch]] with what = "p99(sojourn)"')
        return self.path.parent / file, watches


def _budgets(entries: Any, seeds: int, names: Sequence[str]) -> Iterator[Budget]:
    for place, table in _tables("budget", entries):
        _known(place, table, ("say", "in", "worlds"))
        say = _needed(place, table, "say", EXAMPLE)
        needed = _count(f"{place}.in", table["in"], 1, seeds) if "in" in table else seeds
        yield Budget(place, say, needed, _some_worlds(place, table, names))


def _watches(entries: Any, names: Sequence[str]) -> Iterator[Watch]:
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for place, table in _tables("baseline.watch", entries):
        _known(place, table, ("what", "worse", "by", "worlds"))
        what = _needed(place, table, "what", 'what = "p99(sojourn)"')
        worse = _needed(place, table, "worse", 'worse = "up"')
        if worse not in ("up", "down"):
            raise InputError(f'{place}.worse: "{worse}" is unknown; write "up" or "down"')
        by = _needed(place, table, "by", 'by = "5 %"')
        worlds = _some_worlds(place, table, names)
        if (what, worlds) in seen:
            raise InputError(f'{place}: "{what}" is watched twice; leave one out')
        seen.add((what, worlds))
        yield Watch(place, what, worse, by, worlds)


def _some_worlds(place: str, table: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    """Names of the worlds of an entry."""
    if "worlds" not in table:
        return ()
    found = dict(_texts(f"{place}.worlds", table["worlds"], 'worlds = ["dsl"]'))
    if not found:
        raise InputError(f"{place}.worlds: empty; name a world, or leave the key out for all")
    for own, name in found.items():
        if names and name not in names:
            raise unknown(f"{own}: world", name, list(names))
    return tuple(dict.fromkeys(found.values()))


def _known(place: str, table: Mapping[str, Any], keys: Sequence[str]) -> None:
    for key in table:
        if key not in keys:
            raise unknown(f"{place}: key" if place else "key", key, list(keys))


def _needed(place: str, table: Mapping[str, Any], key: str, example: str) -> str:
    if key not in table:
        raise InputError(f"{place}.{key}: missing; write e.g. {example}")
    return _text(f"{place}.{key}", table[key], example.partition('"')[2].rstrip('"'))


def _text(place: str, value: Any, example: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f'{place}: not a text; write e.g. "{example}"')
    if len(value) > MAX_TEXT:
        raise InputError(f"{place}: longer than {MAX_TEXT} characters; write a shorter one")
    if re.search(r"[\x00-\x1f\x7f]", value):
        raise InputError(f"{place}: holds a control character; write it without")
    return value.strip()


def _check_words(command: str) -> None:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"command: {str(error).lower()}; close the quotation marks") from None
    if command and not words:
        raise InputError('command: empty; write e.g. "cargo nextest run", or leave the key out')


def _count(place: str, value: Any, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InputError(f"{place}: not a whole number from {low} to {high}; write e.g. {min(20, high)}")
    return value


def _table(place: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{place}: not a table; write [{place}]")
    return value


def _tables(place: str, value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise InputError(f"{place}: not a list of tables; write [[{place}]]")
    yield from _limited(place, value)


def _texts(place: str, value: Any, example: str) -> Iterator[tuple[str, str]]:
    if not isinstance(value, list):
        raise InputError(f"{place}: not a list of texts; write e.g. {example}")
    read: Callable[[str, Any], str] = lambda own, one: _text(own, one, example.partition('"')[2].partition('"')[0])  # noqa: E731
    yield from ((own, read(own, one)) for own, one in _limited(place, value))


def _limited(place: str, value: list[Any]) -> list[tuple[str, Any]]:
    if len(value) > MAX_ENTRIES:
        raise InputError(f"{place}: {len(value)} entries, at most {MAX_ENTRIES} are supported; split the file")
    return [(f"{place}[{number}]", one) for number, one in enumerate(value)]
