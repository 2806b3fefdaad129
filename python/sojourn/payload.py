"""Payload at the receivers, as every engine reports it, and how evenly it is shared."""

from __future__ import annotations

from collections.abc import Sequence


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


def jain(goodputs: Sequence[float]) -> float:
    """Jain's fairness index; 1 for no flows or no bytes."""
    squares = sum(one * one for one in goodputs)
    return sum(goodputs) ** 2 / (len(goodputs) * squares) if squares > 0 else 1.0
