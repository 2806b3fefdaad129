"""Time series from a run's packets: delays, drops, smoothed drop rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sojourn.base.late import pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sojourn.model.results.result import Result

MEMORY_S = 0.5
"""Memory (time constant) of the smoothed drop rate, as in Schwarzkopf et al. 2016, Figure 5."""


def dropped() -> pl.Expr:
    """Whether a row of `Result.packets` is a drop."""
    return pl.col("fate").cast(pl.String).str.starts_with("dropped")


def packets(result: Result, start_s: float = 0.0, end_s: float = np.inf) -> pl.DataFrame:
    """Packets of the forward link by departure or drop time: `time_s`, `sojourn_ms`, `dropped`."""
    inside = (pl.col("link") == result.link) & pl.col("time_s").is_between(start_s, end_s)
    return result.packets.filter(inside).select("time_s", "sojourn_ms", dropped().alias("dropped"))


def between(trace: pl.DataFrame, start_s: float, end_s: float) -> pl.DataFrame:
    """Rows in the half-open interval [`start_s`, `end_s`)."""
    return trace.filter(pl.col("time_s").is_between(start_s, end_s, closed="left"))


def tewma(times_s: NDArray[np.float64], at_s: NDArray[np.float64], memory_s: float = MEMORY_S) -> NDArray[np.float64]:
    """Event rate per second: time-exponentially weighted moving average with memory `memory_s`."""
    # Each event weighs exp(-(t - t_i) / M). Times are relative to the previous step, which keeps exp(t_i / M) small.
    rates = np.empty(len(at_s))
    level, last, index = 0.0, 0.0, 0
    for index_at, now in enumerate(at_s):
        while index < len(times_s) and times_s[index] <= now:
            level = level * np.exp(-(times_s[index] - last) / memory_s) + 1
            last = float(times_s[index])
            index += 1
        rates[index_at] = level * np.exp(-(now - last) / memory_s) / memory_s
    return rates


def drop_rate(result: Result, at_s: NDArray[np.float64], memory_s: float = MEMORY_S) -> NDArray[np.float64]:
    """Smoothed drop rate of the forward link in drops per second."""
    return tewma(packets(result).filter("dropped")["time_s"].to_numpy(), at_s, memory_s)
