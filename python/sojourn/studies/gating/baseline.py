"""The baseline: values of the watches and hashes of decisions per seed, as a file that is reviewed as a difference."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isfinite, nan
from pathlib import Path
from typing import Any

from sojourn.base.errors import InputError
from sojourn.base.files import write_file
from sojourn.base.inputs import parse_json, read_bytes
from sojourn.base.shapes import find_mismatch, is_count, is_number_or_null, is_text

FORMAT = 1
DIGITS = 9
"""Significant digits of values."""
MAX_LINES = 180
"""Maximum number of lines with seeds per world."""
MAX_BYTES = 64 << 20


@dataclass(frozen=True)
class Entry:
    """A seed of a world."""

    decisions: str
    values: tuple[float, ...]
    """By watch; NaN if the run has no value."""


@dataclass(frozen=True)
class WorldBaseline:
    """A world of a baseline."""

    world: str
    """Hash of what its scenario describes."""
    engine: str
    """Version of Sojourn that ran it."""
    watches: tuple[str, ...]
    """Expressions of the values."""
    seeds: Mapping[int, Entry]

    def values(self, what: str) -> dict[int, float]:
        """Values of a watch by seed."""
        place = self.watches.index(what)
        return {seed: entry.values[place] for seed, entry in self.seeds.items()}


Baseline = Mapping[str, WorldBaseline]
"""By name of the world."""


def rounded(value: float) -> float:
    """A value as the file has it."""
    return float(f"{value:.{DIGITS}g}")


def write_baseline(path: Path, baseline: Baseline) -> Path:
    """Write a baseline, atomically."""
    return write_file(path, lambda file: file.write(_text(baseline).encode()))


def read_baseline(path: Path) -> Baseline:
    """Read a baseline; raises `InputError` if it is missing or damaged."""
    if not path.exists():
        raise InputError(f"{path}: no baseline yet; write one with --update, and commit it")
    if path.is_file() and path.stat().st_size > MAX_BYTES:
        raise InputError(f"{path}: larger than {MAX_BYTES >> 20} MiB; {_AGAIN}")
    try:
        document = parse_json(read_bytes(path, "baseline"))
    except InputError as error:
        raise InputError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None
    except ValueError:
        raise InputError(f"{path}: not JSON; {_AGAIN}") from None
    if isinstance(document, dict) and document.get("format", FORMAT) != FORMAT:
        raise InputError(f"{path}: format {str(document['format'])[:20]}, this version reads {FORMAT}; {_AGAIN}")
    if (place := find_mismatch("baseline", document, _SHAPE)) is not None:
        raise InputError(f"{path}: {place.removeprefix('baseline.')} is missing or of a wrong type; {_AGAIN}")
    return {name: _world(path, name, table) for name, table in document["worlds"].items()}


def _world(path: Path, name: str, table: Mapping[str, Any]) -> WorldBaseline:
    watches = tuple(table["watches"])
    seeds: dict[int, Entry] = {}
    for line in table["seeds"]:
        for entry in line:
            if not _is_entry(entry, len(watches)) or entry[0] in seeds:
                raise InputError(f"{path}: {name}: {str(entry)[:60]} is not one seed's line; {_AGAIN}")
            seeds[entry[0]] = Entry(entry[1], tuple(nan if value is None else float(value) for value in entry[2:]))
    return WorldBaseline(table["world"], table["sojourn"], watches, seeds)


def _is_entry(entry: Any, watches: int) -> bool:
    return (
        isinstance(entry, list)
        and len(entry) == 2 + watches
        and is_count(entry[0])
        and is_text(entry[1])
        and all(map(is_number_or_null, entry[2:]))
    )


def _text(baseline: Baseline) -> str:
    """JSON with sorted keys: a line per seed, or per few seeds if there are many."""
    worlds = ",\n".join(f"  {json.dumps(name)}: {{\n{_world_text(one)}\n  }}" for name, one in sorted(baseline.items()))
    return f'{{\n "format": {FORMAT},\n "worlds": {{\n{worlds}\n }}\n}}\n'


def _world_text(one: WorldBaseline) -> str:
    entries = [
        json.dumps([seed, entry.decisions, *(rounded(value) if isfinite(value) else None for value in entry.values)])
        for seed, entry in sorted(one.seeds.items())
    ]
    each = ceil(len(entries) / MAX_LINES)
    lines = (f"    [{', '.join(entries[place : place + each])}]" for place in range(0, len(entries), each))
    head = [f'   "seeds": [\n{_joined(lines)}\n   ]']
    head.append(f'   "sojourn": {json.dumps(one.engine)}')
    head.append(f'   "watches": {json.dumps(list(one.watches))}')
    head.append(f'   "world": {json.dumps(one.world)}')
    return _joined(head)


def _joined(lines: Sequence[str] | Any) -> str:
    return ",\n".join(lines)


_AGAIN = "restore it from version control, or write it again with --update"
_SHAPE: dict[str, Any] = {
    "format": is_count,
    "worlds": {
        "*": {"world": is_text, "sojourn": is_text, "watches": [is_text], "seeds": [lambda one: isinstance(one, list)]}
    },
}
