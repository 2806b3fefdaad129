"""Writes the tables of keys in scenario.md and the pages of this folder from the JSON Schema of scenario files.

A table is between `<!-- keys: NAME -->` and `<!-- end -->`; the rest is handwritten. `python
docs/scenario/generate.py` writes the pages; a test compares them with its output.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.base.markdown import part_names, replace_part, table

DOCS = Path(__file__).parents[1]
FILES = [DOCS / "scenario.md", *sorted((DOCS / "scenario").glob("*.md"))]
# Longer lists of words go into the column of meanings.
MAX_WORDS = 4
REFERENCES = {
    "#/$defs/duration": "time",
    "#/$defs/rate": "rate",
    "#/$defs/size": "size",
    "#/$defs/aqm": "queue manager",
}
TYPES = {"boolean": "flag", "string": "text", "object": "table"}
Keys = dict[str, dict[str, Any]]


def pages() -> dict[str, str]:
    """Every page: path below docs and text."""
    texts = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in FILES}
    places = {name: page for page, text in texts.items() for name in part_names(text, "keys")}
    written = tables()
    assert places.keys() == written.keys(), (
        f"tables without a place or places without a table: {places.keys() ^ written.keys()}"
    )
    for name, page in places.items():
        texts[page] = replace_part(texts[page], "keys", name, written[name])
    return texts


def tables() -> dict[str, list[str]]:
    """Every table by its name."""
    top = json.loads(_core.scenario_schema())
    link, links = top["properties"]["link"], top["properties"]["links"]["items"]
    wlan, changes = top["properties"]["wlan"], top["properties"]["changes"]["items"]
    services = _services(link)
    of_link = _keys(link)
    sections = {
        "run": _keys(top),
        "probes": _keys(top["properties"]["probes"]),
        "changes": _keys(changes) | _keys(changes["properties"]["link"]),
        "link services": {name: key for name, key in of_link.items() if name in services},
        "link": {name: key for name, key in of_link.items() if name not in services},
        "links": {name: key for name, key in _keys(links).items() if name not in of_link},
        "wlan": _keys(wlan),
        "stations": _keys(wlan["properties"]["stations"]["items"]),
        "nodes": _keys(top["properties"]["nodes"]["items"]),
        **_flows(top["properties"]["flows"]["items"]["oneOf"]),
    }
    return {"kinds": _kinds(top), **{name: _table(keys) for name, keys in sections.items()}}


def _keys(schema: dict[str, Any]) -> Keys:
    """Keys of a table in the order of the core, each with whether it is required."""
    required = dict.fromkeys(schema.get("required", []), "required")
    for first in _first_keys(schema):
        needed = schema["dependentRequired"].get(first, [])
        required |= dict.fromkeys(needed, f"required with `{first}`")
    return {
        name: schema["properties"][name] | {"required": required.get(name)}
        for name in schema["x-order"]
        if name in schema["properties"]
    }


def _first_keys(link: dict[str, Any]) -> list[str]:
    """The key of each kind of service of a link."""
    return [kind["required"][0] for kind in link.get("oneOf", []) if kind.keys() == {"required"}]


def _services(link: dict[str, Any]) -> set[str]:
    """Keys that belong to one kind of service of a link."""
    first_keys, dependent = set(_first_keys(link)), link["dependentRequired"]
    return first_keys.union(
        (key for key, needed in dependent.items() if first_keys & set(needed)),
        *(dependent.get(key, []) for key in first_keys),
    )


def _flows(kinds: list[dict[str, Any]]) -> dict[str, Keys]:
    """Keys of all flows, keys of all flows over TCP, and the others of each kind."""
    by_name = {kind["properties"]["kind"]["const"]: _keys(kind) for kind in kinds}
    over_tcp = [keys for keys in by_name.values() if "cc" in keys]
    common = {"kind"} | _shared(list(by_name.values()))
    tcp = _shared(over_tcp) - common
    any_kind = {name: key for name, key in by_name["tcp"].items() if name in common}
    any_kind["kind"] |= {"enum": list(by_name)}
    datagrams = [by_name.pop(name) for name in ("poisson", "streaming")]
    assert datagrams[0] | {"kind": {}} == datagrams[1] | {"kind": {}}
    by_name["cbr, poisson, streaming"] = datagrams[0]
    by_name["cbr"] = {name: key for name, key in by_name["cbr"].items() if name not in datagrams[0]}
    own = {
        name: {key: about for key, about in keys.items() if key not in common | tcp} for name, keys in by_name.items()
    }
    return {
        "flows": any_kind,
        "flows over TCP": {name: key for name, key in over_tcp[0].items() if name in tcp},
        **{f"kind {name}": keys for name, keys in own.items()},
    }


def _shared(tables: list[Keys]) -> set[str]:
    """Keys that are the same in all tables."""
    first, *others = tables
    return {name for name, key in first.items() if all(other.get(name) == key for other in others)}


def _kinds(top: dict[str, Any]) -> list[str]:
    kinds = top["properties"]["flows"]["items"]["oneOf"]
    rows = [[f"`{kind['properties']['kind']['const']}`", kind["description"]] for kind in kinds]
    return table(["kind", "traffic"], rows)


def _table(keys: Keys) -> list[str]:
    return table(["key", "kind", "default", "meaning"], [_row(name, key) for name, key in keys.items()])


def _row(name: str, key: dict[str, Any]) -> list[str]:
    # The last sentence of an optional key may be its default.
    meaning, _, optional = key["description"].partition(" Default: ")
    words = key.get("enum", [])
    if len(words) > MAX_WORDS:
        meaning += f" One of {_words(words)}."
    default = key["required"] or optional.removesuffix(".") or "none"
    if "default" in key:
        value = key["default"]
        default = f"`{value if isinstance(value, str) else json.dumps(value)}`" if value != "" else "empty"
    return [f"`{name}`", _kind(key), default, meaning]


def _kind(schema: dict[str, Any]) -> str:
    words = schema.get("enum", [])
    if "title" in schema:
        return str(schema["title"])
    if words:
        return f"one of {_words(words)}" if len(words) <= MAX_WORDS else "name"
    if "$ref" in schema:
        return REFERENCES[schema["$ref"]]
    if schema.get("format") == "path":
        return "file"
    if schema["type"] == "integer":
        return f"count, {_number(schema['minimum'])} to {_number(schema['maximum'])}"
    if schema["type"] == "array":
        return f"list of {'names' if schema['items'].get('type') == 'string' else 'tables'}"
    return TYPES[schema["type"]]


def _words(words: list[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _number(number: int) -> str:
    bits = number.bit_length()
    return f"2^{bits} - 1" if bits > 32 and number == (1 << bits) - 1 else f"{number:,}"


if __name__ == "__main__":
    for page, text in pages().items():
        (DOCS / page).write_text(text, encoding="utf-8")
