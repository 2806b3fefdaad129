"""Metrics after the link or the load changes at a given time, from the probe `queue`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import polars as pl

from sojourn.base.units import rates, schedule, seconds
from sojourn.model.results.result import Result

RISE_S = 2.0
"""Interval after a rise of the rate for which the link's utilisation is reported."""


def delays(result: Result) -> pl.DataFrame:
    """Sojourn time of the last sent packet over time: `time_s`, `delay_ms`."""
    delay = (pl.col("last_sojourn_ns") / 1e6).alias("delay_ms")
    return result.queue.filter(pl.col("link") == result.link).select("time_s", delay)


def peak(result: Result) -> float | None:
    """Maximum sojourn time after each fall of the rate or growth of the load, in ms, on average."""
    peaks = [value for table, _, _ in _after_worse(result) if (value := table["delay_ms"].max()) is not None]
    return _mean([float(value) for value in peaks])  # type: ignore[arg-type]


def settle(result: Result) -> float | None:
    """Time after each fall of the rate or growth of the load until the delay settles, in s, on average.

    The delay has settled when it stays below its maximum in the second half before the next change. None without such a
    change.
    """
    times = []
    for table, start, end in _after_worse(result):
        half = (start + end) / 2
        late = table.filter(pl.col("time_s") > half)["delay_ms"].max()
        above = table.filter((pl.col("time_s") <= half) & (pl.col("delay_ms") > (late or 0.0)))["time_s"].max()
        times.append(float(above) - start if isinstance(above, float) else 0.0)
    return _mean(times)


def rise(result: Result) -> float | None:
    """Utilisation of the link in the first two seconds after each rise of its rate, on average."""
    steps = result.utilisation.filter(pl.col("link") == result.link)
    found = []
    for time in _steps(result)[1]:
        inside = steps.filter((pl.col("time_s") > time + 1e-9) & (pl.col("time_s") <= time + RISE_S + 1e-9))
        found += inside["utilisation"].to_list()
    return _mean(found)


def _after_worse(result: Result) -> Iterator[tuple[pl.DataFrame, float, float]]:
    """Samples of the queue from each change for the worse to the next change, with both times."""
    falls, rises = _steps(result)
    starts = [seconds(flow["start"]) for flow in result.scenario.document["flows"]]
    stops = [seconds(flow["stop"]) for flow in result.scenario.document["flows"] if flow.get("stop")]
    worse = sorted({time for time in (*falls, *starts) if result.warmup_s < time < result.duration_s})
    changes = sorted({*worse, *rises, *stops, result.duration_s})
    queue = delays(result)
    for start in worse:
        end = min(result.duration_s, next(time for time in changes if time > start))
        yield queue.filter((pl.col("time_s") > start) & (pl.col("time_s") <= end)), start, end


def _steps(result: Result) -> tuple[list[float], list[float]]:
    """Times at which the link's rate falls, and at which it rises, in s."""
    text = result.scenario.document["link"]["rate"]
    begins = [seconds(time) for _, time in schedule(text) if time]
    pairs = list(pairwise(zip(begins, rates(text), strict=False)))
    within = [(now, after > before) for (_, before), (now, after) in pairs if now < result.duration_s]
    return [now for now, up in within if not up], [now for now, up in within if up]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
