"""Payload at the receivers, as every engine reports it, and how evenly it is shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl


def payload_summary(arrived: int, delivered: int | None, seconds: float) -> dict[str, float | int | None]:
    """What a summary says of bytes that arrived for the first time in a window, and of those delivered in it.

    What was delivered is None where nobody knows.
    """
    return {
        "goodput_bps": arrived * 8 / seconds,
        "bytes": arrived,
        "delivered_bps": None if delivered is None else delivered * 8 / seconds,
        "delivered_bytes": delivered,
    }


def whole(groups: Sequence[Mapping[str, Any]], flows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """What a summary says of all forward flows together, from its groups and its flows that last."""
    forward = [one for one in groups if one["direction"] == "forward"]
    sums = {key: sum(one[key] for one in forward) for key in ("goodput_bps", "delivered_bps")}
    return {**sums, "jain": jain([one["goodput_bps"] for one in flows if one["direction"] == "forward"])}


def columns_of_ends(ends: Sequence[Mapping[str, Any]]) -> list[pl.Series]:
    """Columns of the table `windows` that only the ends know, from a summary's numbers for each row."""
    names = ("goodput_bps", "delivered_bps", "jain")
    return [pl.Series(name, [one[name] for one in ends], dtype=pl.Float64) for name in names]


def jain(goodputs: Sequence[float]) -> float:
    """Jain's fairness index; 1 for no flows or no bytes."""
    squares = sum(one * one for one in goodputs)
    return sum(goodputs) ** 2 / (len(goodputs) * squares) if squares > 0 else 1.0
