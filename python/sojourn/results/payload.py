"""Payload at the receivers, as every engine reports it, and how evenly it is shared; the core computes both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from sojourn import _core


def payload_summary(arrived: int, delivered: int | None, seconds: float) -> dict[str, float | int | None]:
    """What a summary says of bytes that arrived for the first time in a window, and of those delivered in it.

    What was delivered is None where nobody knows.
    """
    found: dict[str, float | int | None] = json.loads(_core.payload_summary(arrived, delivered or 0, seconds))
    return found if delivered is not None else found | {"delivered_bps": None, "delivered_bytes": None}


def whole(groups: Sequence[Mapping[str, Any]], flows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """What a summary says of all forward flows together, from its groups and its flows that last."""
    rates = [(one["goodput_bps"], one["delivered_bps"]) for one in groups if one["direction"] == "forward"]
    lasting = [one["goodput_bps"] for one in flows if one["direction"] == "forward"]
    found: dict[str, float] = json.loads(_core.whole(rates, lasting))
    return found


def columns_of_ends(ends: Sequence[Mapping[str, Any]]) -> list[pl.Series]:
    """Columns of the table `windows` that only the ends know, from a summary's numbers for each row."""
    names = ("goodput_bps", "delivered_bps", "jain")
    return [pl.Series(name, [one[name] for one in ends], dtype=pl.Float64) for name in names]
