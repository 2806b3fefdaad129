"""Payload at the receivers, as every engine reports it, and its fairness; the core computes both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sojourn import _core
from sojourn.base.late import pl

if TYPE_CHECKING:
    from sojourn.model.scenarios.scenario import Scenario

Ends = Mapping[str, Any]
"""Part of a summary that only the end hosts know: `groups`, `flows`, and sums over them."""


def payload_summary(arrived: int, delivered: int | None, seconds: float) -> dict[str, float | int | None]:
    """Summary of the bytes that arrived for the first time in a window, and of those delivered in it.

    `delivered` is None if unknown.
    """
    found: dict[str, float | int | None] = json.loads(_core.payload_summary(arrived, delivered or 0, seconds))
    return found if delivered is not None else found | {"delivered_bps": None, "delivered_bytes": None}


def bulk_groups(scenario: Scenario) -> list[bool]:
    """Whether each flow group has bulk flows, which count for Jain's index: no end, and no rate of their own."""
    return _core.bulk_groups(scenario.canonical)


def ends_of(groups: Sequence[dict[str, Any]], flows: Sequence[dict[str, Any]], bulk: Sequence[bool]) -> dict[str, Any]:
    """The end hosts' part of a summary: groups with their Jain's index, long-lived flows, and totals.

    Each flow has the number of its `group`; `bulk` is whether a group's flows count for the index.
    """
    rates = [
        {
            "is_bulk": is_bulk,
            "forward": one["direction"] == "forward",
            "goodput_bps": one["goodput_bps"],
            "delivered_bps": one["delivered_bps"] or 0.0,
        }
        for one, is_bulk in zip(groups, bulk, strict=True)
    ]
    whole = json.loads(_core.whole(rates, [(flow["group"], flow["goodput_bps"]) for flow in flows]))
    indices = whole.pop("jain_of_groups")
    named = [one | ({} if index is None else {"jain": index}) for one, index in zip(groups, indices, strict=True)]
    return {**whole, "groups": named, "flows": list(flows)}


def windows_with_ends(windows: pl.DataFrame, ends: Mapping[int, Ends]) -> dict[str, pl.DataFrame]:
    """The table `windows` with the end hosts' columns added, and the tables of flows and groups.

    `ends` has the end hosts' part by start in ns.
    """
    names = ("goodput_bps", "delivered_bps", "jain")
    columns = [
        pl.Series(name, [ends[start].get(name) for start in windows["start_ns"]], dtype=pl.Float64) for name in names
    ]
    rows = [
        {"start_ns": start, "flow": flow["id"], **{key: flow.get(key) for key in _OF_FLOWS}}
        for start, known in ends.items()
        for flow in known.get("flows", ())
    ]
    of_groups = [
        {"start_ns": start, "group": number, **{key: group.get(key) for key in _OF_GROUPS}, **_times(group)}
        for start, known in ends.items()
        for number, group in enumerate(known.get("groups", ()))
    ]
    return {
        "windows": windows.with_columns(columns),
        "flow_windows": _table(rows),
        "group_windows": _table(of_groups),
    }


def _times(group: Mapping[str, Any]) -> dict[str, float | None]:
    return {f"completion_{key}_ms": value for key, value in group["completion_ms"].items()}


def _table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame(schema={"start_ns": pl.UInt64})


_OF_FLOWS = ("bytes", "delivered_bytes", "delay_ms", "delay_variation_ms", "loss_rate", "mos")
_OF_GROUPS = (*_OF_FLOWS, "jain", "offered_bytes", "opened", "closed", "transfers")
"""Columns of the tables of flows and of groups."""
