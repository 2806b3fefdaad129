"""Expansion of a `[sweep]` table: lists, ranges and lists of tuples, crossed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from sojourn.base.dotted import check_distinct, split_paths
from sojourn.base.errors import InputError
from sojourn.base.units import format_quantity, read_quantity

MAX_VALUES = 1_000_000
"""Maximum number of values of a range; more are taken for a mistake."""

Axis = list[dict[str, Any]]
"""Values of one entry of the table by path; several paths if they change together."""


def axes_of(sweep: Mapping[str, Any]) -> list[Axis]:
    """Parse the entries of a `[sweep]` table."""
    entries = list(_flatten(sweep))
    check_distinct("sweep", (path for paths, _ in entries for path in split_paths(paths)))
    return [_axis(path, found) for path, found in entries]


def distinct_values(axes: Sequence[Axis]) -> tuple[list[Axis], tuple[str, ...]]:
    """The axes with distinct values, and a sentence for each duplicate."""
    twice = []
    distinct: list[Axis] = []
    for axis in axes:
        own: dict[str, dict[str, Any]] = {}
        for values in axis:
            key = json.dumps(values, sort_keys=True, default=str)
            if key in own:
                shown = ", ".join(str(value) for value in values.values())
                twice.append(f"{', '.join(values)}: {shown} listed twice, run once")
            own.setdefault(key, values)
        distinct.append(list(own.values()))
    return distinct, tuple(dict.fromkeys(twice))


def count_of(axes: Sequence[Axis]) -> int:
    """Number of combinations."""
    return prod(len(axis) for axis in axes)


def combinations(axes: Sequence[Axis]) -> Iterator[dict[str, Any]]:
    """Every combination of the swept values by dotted path; the last path varies fastest."""
    for chosen in product(*axes):
        yield {path: value for values in chosen for path, value in values.items()}


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Pairs of dotted path and value; `link.aqm` means the same with and without quotes."""
    for key, value in table.items():
        if isinstance(value, dict) and not RANGE_KEYS & value.keys():
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _axis(path: str, found: Any) -> Axis:
    if isinstance(found, dict):
        return [{path: value} for value in _range(path, found)]
    if not isinstance(found, list):
        raise InputError(f"sweep.{path}: not a list; write e.g. [{json.dumps(found)}]")
    if not found:
        raise InputError(f"sweep.{path}: an empty list; give at least one value")
    paths = split_paths(path)
    if len(paths) == 1:
        return [{path: value} for value in found]
    for values in found:
        if not isinstance(values, list) or len(values) != len(paths):
            text = f'write lists of {len(paths)} values, e.g. [["codel", 1], ["pie", 4]] for "link.aqm, flows.0.count"'
            raise InputError(
                f"sweep.{path}: {json.dumps(values)} is not a value for each of {', '.join(paths)}; {text}"
            )
    return [dict(zip(paths, values, strict=True)) for values in found]


def _range(path: str, found: Mapping[str, Any]) -> list[Any]:
    """Values from `from` to `to`, both included, in steps of `step` or by factors of `factor`."""
    place = f"sweep.{path}"
    if found.keys() - RANGE_KEYS or not {"from", "to"} <= found.keys() or ("step" in found) == ("factor" in found):
        raise InputError(
            f'{place}: not a range; write e.g. {{ from = "5 ms", to = "20 ms", step = "5 ms" }}, or factor = 2'
        )
    first, unit = read_quantity(f"{place}.from", found["from"])
    last, last_unit = read_quantity(f"{place}.to", found["to"])
    by, by_unit = read_quantity(
        f"{place}.{'step' if 'step' in found else 'factor'}", found.get("step", found.get("factor"))
    )
    if last_unit != unit or ("step" in found and by_unit != unit):
        raise InputError(f'{place}: its ends and its step have different units; write all of them in "{unit}"')
    grows = by > 0 if "step" in found else by > 1 and first > 0
    if not grows or last < first:
        raise InputError(f"{place}: an empty range; let it grow from `from` to `to`")
    values = []
    value = first
    while value <= last:
        values.append(value)
        if len(values) > MAX_VALUES:
            raise InputError(f"{place}: more than {MAX_VALUES} values; take a larger step")
        value = value + by if "step" in found else value * by
    return [format_quantity(value, unit) for value in values]


RANGE_KEYS = {"from", "to", "step", "factor"}
