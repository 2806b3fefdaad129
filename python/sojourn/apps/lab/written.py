"""A scenario as editable text: TOML, one key per line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.items import AoT, InlineTable, Table

from sojourn.model.scenarios.scenario import Scenario

ORDER = (
    "name",
    "duration",
    "warmup",
    "seed",
    "nodes",
    "wlan",
    "link",
    "reverse",
    "links",
    "flows",
    "changes",
    "probes",
)
"""The keys of a scenario in their usual order."""


def scenario_toml(scenario: Scenario) -> str:
    """TOML of the canonical form of a scenario."""
    keys = sorted(scenario.document, key=lambda key: ORDER.index(key) if key in ORDER else len(ORDER))
    document = tomlkit.document()
    for key, value in _plain_first({key: scenario.document[key] for key in keys}):
        document.add(key, _item(key, value))
    return tomlkit.dumps(document)


def _item(key: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return _inline(value) if key == "aqm" else _table(value)
    if _is_tables(value):
        tables = AoT([])
        for entry in value:
            tables.append(_table(entry))
        return tables
    return tomlkit.item(value)


def _table(keys: Mapping[str, Any]) -> Table:
    table = tomlkit.table()
    for key, value in _plain_first(keys):
        table.add(key, _item(key, value))
    return table


def _inline(keys: Mapping[str, Any]) -> InlineTable:
    """A queue manager: a value in the form of a table."""
    table = tomlkit.inline_table()
    for key, value in keys.items():
        table.append(key, _inline(value) if isinstance(value, Mapping) else value)
    return table


def _plain_first(keys: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Sort values before tables, because later keys would belong to the table."""

    def is_table(key: str, value: Any) -> bool:
        return (isinstance(value, Mapping) and key != "aqm") or _is_tables(value)

    return sorted(keys.items(), key=lambda pair: is_table(*pair))


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)
