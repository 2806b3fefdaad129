"""Traces of rate and delay made of measured series, at the times of the measurements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sojourn.base.errors import InputError
from sojourn.base.inputs import read_text
from sojourn.io.flent.files import Array, FlentData, is_computed, is_statistic
from sojourn.io.measured.columns import delays_of_columns
from sojourn.io.measured.files import load_measured


def of_log(path: Path, series: str | None, *, delay: bool) -> tuple[str, tuple[str, ...]]:
    """Text of a rate trace or a delay trace of a measured log, and sentences about it; raises `InputError`."""
    data, notes = load_measured(path)
    try:
        return (delay_trace if delay else rate_trace)(data, series), notes
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def of_columns(path: Path, units: str | None) -> str:
    """Text of a delay trace of two columns; raises `InputError`."""
    try:
        return delay_steps(*delays_of_columns(read_text(path, "CSV"), units))
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(str(path)) else f"{path}: {text}") from None


def rate_trace(data: FlentData, series: str | None) -> str:
    """A series of rates as rows of time and rate; streams of one direction are added. Raises `InputError`."""
    times, values = _chosen(data, "Mbit/s", series)
    if np.any(values < 0):
        raise InputError(f"{values.min():g} Mbit/s is no rate; the log is damaged")
    rows = (f"{time:.6f},{value:.6f}" for time, value in zip(times - times[0], values, strict=True))
    return "\n".join(["time [s],rate [Mbit/s]", *rows]) + "\n"


def delay_trace(data: FlentData, series: str | None) -> str:
    """A series of delays as the file of a link's `delay_trace`; of round-trip times half. Raises `InputError`."""
    name, names = _choice(data, "ms", series)
    times, values = data.samples(names[0])
    share = 1.0 if name.startswith("One-way") else 0.5
    return delay_steps(times, values * share)


def delay_steps(times: Array, one_way_ms: Array) -> str:
    """Lines of a `delay_trace`; of several measurements in a microsecond the last one counts. Raises `InputError`."""
    return "".join(f"{line}\n" for line in _steps(times, one_way_ms))


def _steps(times: Array, one_way_ms: Array) -> Iterator[str]:
    if np.any(one_way_ms < 0) or not np.all(np.isfinite(one_way_ms)):
        raise InputError(f"{one_way_ms.min():g} ms is no delay; choose another series")
    stamps = np.round((times - times[0]) * 1e6).astype(np.int64)
    is_last = np.append(np.diff(stamps) > 0, True)
    for stamp, delay in zip(stamps[is_last].tolist(), one_way_ms[is_last].tolist(), strict=True):
        yield f"{delay:.6f} ms@{stamp} us"


def _chosen(data: FlentData, unit: str, series: str | None) -> tuple[Array, Array]:
    """Times and sum of the streams of a series."""
    _, names = _choice(data, unit, series)
    rows = np.array([[np.nan if one is None else one for one in data.results[name]] for name in names], dtype=float)
    there = np.isfinite(rows).any(axis=0)
    return np.asarray(data.x_values, dtype=float)[there], np.nansum(rows[:, there], axis=0)


def _choice(data: FlentData, unit: str, series: str | None) -> tuple[str, Sequence[str]]:
    """Name of the chosen series, and those of its streams."""
    groups: dict[str, list[str]] = {}
    for name in data.results:
        if data.unit(name) == unit and not is_computed(name):
            is_own = unit == "ms" or is_statistic(name)
            groups.setdefault(name if is_own else name.partition("::")[0], []).append(name)
    if series is None and len(groups) == 1:
        return next(iter(groups.items()))
    if series in groups:
        return series, groups[series]
    if not groups:
        what = "rates; use --delay" if unit == "Mbit/s" else "delays; leave --delay out"
        raise InputError(f"it has no {what}")
    listed = ", ".join(list(groups)[:MAX_LISTED]) + ("" if len(groups) <= MAX_LISTED else ", …")
    if series is None:
        raise InputError(f"it has several series; choose one with --series: {listed}")
    raise InputError(f"--series: no {series!r} in it; expected one of: {listed}")


MAX_LISTED = 12
