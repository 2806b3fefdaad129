"""Series that a program measured, and their form as data of Flent."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from sojourn.base.errors import InputError
from sojourn.io.flent.files import FlentData

MAX_SAMPLES = 4_000_000
"""Maximum measurements of a log; a day of pings in steps of 20 ms has as many."""
MAX_TIME_S = 1e10


@dataclass(frozen=True)
class Series:
    """Values of a quantity over time."""

    name: str
    """Name as Flent has it, such as `TCP download` or `Ping (ms) ICMP`."""
    unit: str
    """`Mbit/s` or `ms`."""
    times: Sequence[float]
    """Times in s since the first measurement, in order."""
    values: Sequence[float]
    is_stepwise: bool = False
    """Whether a value holds until the next time; otherwise it is a sample."""


@dataclass(frozen=True)
class Measurement:
    """Contents of a log."""

    program: str
    series: tuple[Series, ...]
    end_s: float
    """Length in s."""
    start_s: float = 0.0
    """Start in s since 1970; zero if unknown."""
    notes: tuple[str, ...] = ()
    """Sentences about parts that are left out or assumed."""

    def as_flent(self) -> FlentData:
        """Data of Flent with the same series; raises `InputError` if there are none."""
        count = sum(len(one.times) for one in self.series)
        if not count:
            raise InputError("no measurement in it; give the log of a whole test")
        if count > MAX_SAMPLES:
            raise InputError(f"{count} measurements, but at most {MAX_SAMPLES} can be read; shorten the log")
        steps = sorted({time for one in self.series for time in one.times if one.is_stepwise})
        steps = steps or sorted({time for one in self.series for time in one.times})
        metadata: dict[str, Any] = {
            "NAME": self.program,
            "TITLE": "",
            "TIME": datetime.fromtimestamp(self.start_s, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "LENGTH": self.end_s,
            "TOTAL_LENGTH": self.end_s,
            "SERIES_META": {one.name: {"UNITS": one.unit} for one in self.series},
        }
        data = FlentData(metadata, steps, {one.name: _at(one, steps) for one in self.series})
        start = data.start_s
        raw = {
            one.name: [{"t": start + time, "val": value} for time, value in zip(one.times, one.values, strict=True)]
            for one in self.series
            if not one.is_stepwise
        }
        return FlentData(metadata, steps, data.results, raw)


def _at(series: Series, steps: Sequence[float]) -> list[float | None]:
    """Value at each step; None for a step without one. Samples belong to the step before them."""
    found: list[float | None] = [None] * len(steps)
    place = 0
    for time, value in zip(series.times, series.values, strict=True):
        while place + 1 < len(steps) and steps[place + 1] <= time:
            place += 1
        found[place] = value
    return found


def number(value: object, place: str) -> float:
    """A finite number of a JSON document; raises `InputError`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{place}: {json.dumps(value)[:60]} is not a number; the log is damaged")
    return float(value)


def start_of(value: object, per_second: float = 1) -> float:
    """Start in s since 1970 from a number of a JSON document; zero for anything else."""
    is_time = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MAX_TIME_S * per_second
    return value / per_second if is_time and isinstance(value, int | float) else 0.0


def member(document: object, key: str, place: str) -> Any:
    """Member of a JSON object; raises `InputError` if it is missing."""
    if not isinstance(document, Mapping) or key not in document:
        raise InputError(f"{place}: no {key}; the log is damaged")
    return document[key]


def listed(document: object, key: str, place: str) -> list[Any]:
    """List in a JSON object; raises `InputError`."""
    found = member(document, key, place)
    if not isinstance(found, list):
        raise InputError(f"{place}{'.' if place else ''}{key}: not a list; the log is damaged")
    return found
