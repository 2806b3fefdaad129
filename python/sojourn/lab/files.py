"""The files that a scenario names: traces of links, and captures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sojourn.base.errors import InputError
from sojourn.base.inputs import parse_json, parse_toml, read_bytes

KEYS = ("trace", "file")
"""Keys of a scenario that name files."""
MOST_BYTES = 64_000_000
"""Bytes of the files of a scenario that a page is given."""


def files_beside(document: Mapping[str, Any], base: Path) -> dict[str, bytes]:
    """The files that a scenario names, by the name that is written there; of a trace also that of the reverse path."""
    found: dict[str, bytes] = {}
    for name in _named(document):
        found[name] = read_bytes(base / name)
        for way, back in ((".down", ".up"), (".up", ".down")):
            other = name.removesuffix(way) + back
            if name.endswith(way) and (base / other).is_file():
                found[other] = read_bytes(base / other)
    return small(found)


def names_of_files(text: str) -> list[str]:
    """Names of the files that a scenario's text, TOML or JSON, names."""
    document = parse_json(text) if text.lstrip().startswith("{") else parse_toml(text)
    return list(_named(document))


def small(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files, unless they are more than a page takes."""
    size = sum(map(len, files.values()))
    if size > MOST_BYTES:
        most = MOST_BYTES / 1e6
        raise InputError(f"the files of the scenario have {size / 1e6:.0f} MB; a page takes up to {most:.0f} MB")
    return files


def _named(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in KEYS and isinstance(inner, str):
                yield inner
            else:
                yield from _named(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner)
