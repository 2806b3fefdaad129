"""Measured numbers, named as in our tables, each with or without a band, and the keys that are free to explain them.

A file has a table `[free]` of ranges and choices, tables `[[measured]]` of numbers, and tables `[[quantiles]]` of
sojourn times. A number's `band` is the half width of its 95 % interval, its `interval` both ends. A number without
either is treated as the outcome of one run of the scenario's length, with the spread between seeds as uncertainty.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sojourn.base.errors import InputError, unknown
from sojourn.model.analysis.metrics import METRICS, Metric
from sojourn.studies.fitting.observed import WORDS, observed_metric
from sojourn.studies.fitting.space import Range, Space, free_key, space_of

SIGMAS_95 = 1.959963984540054
"""Half width of a normal distribution's 95 % interval, in standard deviations."""


@dataclass(frozen=True)
class Number:
    """A measured number, in the unit of our tables."""

    metric: str
    """Column of the summary, or `sojourn 90%`."""
    value: float
    unit: str = ""
    sd: float | None = None
    """Standard deviation; None: that of one run, divided by the root of `runs`."""
    runs: int = 1
    """Number of runs whose mean it is, if it has no band."""
    at: tuple[tuple[str, Any], ...] = ()
    """Scenario keys that were set for the measurement."""
    link: str = ""
    """Name of the link that it is about; empty for the first."""
    digits: int = 2
    """Decimals shown; the number is not taken to be more exact."""

    @property
    def name(self) -> str:
        """Name in results."""
        parts = [self.metric, f"link {self.link}" if self.link else "", *(f"{key} {value}" for key, value in self.at)]
        return ", ".join(filter(None, parts))

    @property
    def resolution(self) -> float:
        """Standard deviation of the rounding error at the shown digits."""
        return float(10.0**-self.digits / 12**0.5)


@dataclass(frozen=True)
class CorrelatedNumbers:
    """Numbers of one recording, with correlations taken from the simulation.

    The uncertainty of each is the larger of its own variation and the variation between seeds: a recording without a
    rare event, such as a lost ping, underestimates how much its mean can differ.
    """

    places: tuple[int, ...]
    runs: float
    """Length of the recording relative to the statistics window of a run."""
    free: int
    """Degrees of freedom of the standard deviations."""


@dataclass(frozen=True)
class Data:
    """Measured numbers and the free keys."""

    space: Space
    numbers: tuple[Number, ...]
    held_out: frozenset[int] = field(default=frozenset())
    """Indices of the numbers that the fit does not use."""
    together: CorrelatedNumbers | None = None
    """Numbers with bands that are correlated; all others are independent."""
    truth: tuple[Range, ...] = ()
    """Range from which trials draw true values, for each range of the space."""

    @property
    def seen(self) -> list[int]:
        """Indices of the numbers that the fit uses."""
        return [place for place in range(len(self.numbers)) if place not in self.held_out]


def data_of(document: Mapping[str, Any], free: Mapping[str, Any] | None = None) -> Data:
    """Parse a data file's document; `free` has more free keys, which replace the file's of the same name."""
    _check_keys("", document, ("free", "measured", "quantiles", "truth"))
    table = document.get("free", {})
    if not isinstance(table, Mapping):
        raise InputError('free: not a table; write e.g. [free] and "link.rate" = "1..100 Mbit/s" below it')
    space = space_of({**dict(_flat(table)), **(free or {})})
    numbers = [_number(f"measured.{place}", one) for place, one in enumerate(_tables(document, "measured"))]
    for place, one in enumerate(_tables(document, "quantiles")):
        numbers += _quantiles(f"quantiles.{place}", one)
    if not numbers:
        raise InputError('measured: missing; write e.g. [[measured]] with metric = "goodput" and value = 9.4')
    for number in numbers:
        if clash := [key for key, _ in number.at if key in space.paths]:
            raise InputError(
                f"measured: {number.name} sets {clash[0]}, which is also in [free]; leave it out in one place"
            )
    names = [(number.name, number.value) for number in numbers]
    if twice := next((one for at, one in enumerate(names) if one in names[:at]), None):
        raise InputError(f"measured: {twice[0]} = {twice[1]:g} is given twice; leave one out")
    return Data(space, tuple(numbers), truth=_truth(document, space))


def hold_out(data: Data, share: float, seed: int = 1) -> Data:
    """Return the data with a random share of the numbers held out: at least one held out and one kept."""
    count = max(1, round(share * len(data.numbers)))
    left = len(data.numbers) - count
    if not 0 < share < 1 or left < 1:
        raise InputError(
            f"--hold-out: {share:.0%} of {len(data.numbers)} numbers leave {max(left, 0)} to fit; hold out less"
        )
    places = random.Random(f"hold out {seed}").sample(range(len(data.numbers)), count)
    return replace(data, held_out=frozenset(places))


def metric_named(place: str, word: str) -> Metric:
    """Find a metric by its column, its heading, or its group and heading."""
    if match := QUANTILE.fullmatch(word):
        if not 0 < float(match[1]) < 100:
            raise InputError(f'{place}: "{word}" is not a quantile; write e.g. "sojourn 90%"')
        return Metric(f"sojourn {float(match[1]):g}%", f"{float(match[1]):g}%", "ms", group="sojourn")
    if found := observed_metric(place, word):
        return found
    for metric in METRICS:
        if word in (metric.column, metric.label, f"{metric.group} {metric.label}".strip()):
            return metric
    raise unknown(f"{place}: metric", word, [*(metric.column for metric in METRICS), *WORDS])


def _truth(document: Mapping[str, Any], space: Space) -> tuple[Range, ...]:
    """Ranges of true values: from `[truth]`, otherwise the whole free range."""
    table = document.get("truth", {})
    if not isinstance(table, Mapping):
        raise InputError('truth: not a table; write e.g. [truth] and "link.rate" = "3..8 Mbit/s" below it')
    found = dict(_flat(table))
    for path in found:
        if path not in [one.path for one in space.ranges]:
            raise unknown("truth: key", path, [one.path for one in space.ranges])
    ranges = []
    for about in space.ranges:
        own = free_key(about.path, found[about.path], "truth") if about.path in found else about
        if not isinstance(own, Range) or own.unit != about.unit or own.low < about.low or own.high > about.high:
            ends = f"{about.low:g}..{about.high:g} {about.unit}".strip()
            raise InputError(f"truth.{about.path}: not a range within that of [free], {ends}; write it as there")
        ranges.append(own)
    return tuple(ranges)


def _number(place: str, table: Mapping[str, Any]) -> Number:
    _check_keys(place, table, ("metric", "value", "band", "interval", "runs", "set", "link"))
    if not isinstance(table.get("metric"), str):
        raise InputError(f'{place}: metric is missing; write e.g. metric = "goodput"')
    metric = metric_named(place, table["metric"])
    value, sd = _value(place, table, metric.unit)
    runs = table.get("runs", 1)
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1 or ("runs" in table and sd is not None):
        raise InputError(
            f"{place}.runs: not the number of runs that a number without a band averages; write e.g. runs = 5"
        )
    return Number(metric.column, value, metric.unit, sd, runs, _set(place, table), _link(place, table), metric.digits)


def _quantiles(place: str, table: Mapping[str, Any]) -> list[Number]:
    """Several quantiles of the sojourn time."""
    _check_keys(place, table, ("sojourn", "band", "runs", "set", "link"))
    values = table.get("sojourn")
    if not isinstance(values, Mapping) or not values:
        raise InputError(f'{place}: quantiles are missing; write e.g. sojourn = {{ "50%" = 4.8, "90%" = 9.1 }}, in ms')
    rest = {key: value for key, value in table.items() if key != "sojourn"}
    return [
        _number(f"{place}.{name}", {**rest, "metric": f"sojourn {str(name).strip()}", "value": value})
        for name, value in values.items()
    ]


def _value(place: str, table: Mapping[str, Any], unit: str) -> tuple[float, float | None]:
    """Value and standard deviation."""
    if "band" in table and "interval" in table:
        raise InputError(f"{place}: band and interval exclude each other; leave one out")
    if "interval" in table:
        ends = table["interval"]
        if not isinstance(ends, list) or len(ends) != 2:
            raise InputError(f"{place}.interval: not a list of both ends; write e.g. interval = [9.2, 9.6]")
        low, high = (_quantity(f"{place}.interval", end, unit) for end in ends)
        if not low < high:
            raise InputError(f"{place}.interval: an empty range; write its smaller end first")
        value = _quantity(f"{place}.value", table["value"], unit) if "value" in table else (low + high) / 2
        return value, (high - low) / 2 / SIGMAS_95
    if "value" not in table:
        raise InputError(f"{place}: value is missing; write e.g. value = 9.4")
    value = _quantity(f"{place}.value", table["value"], unit)
    if "band" not in table:
        return value, None
    band = table["band"]
    share = SHARE.fullmatch(band) if isinstance(band, str) and unit != "%" else None
    half = abs(value) * float(share[1]) / 100 if share else _quantity(f"{place}.band", band, unit)
    if half <= 0:
        raise InputError(
            f'{place}.band: not above zero; write half of the 95 % interval, e.g. 0.2, or "5%" of the value'
        )
    return value, half / SIGMAS_95


def _quantity(place: str, found: Any, unit: str) -> float:
    """A number, or a text with a number in the unit of our tables."""
    match = QUANTITY.fullmatch(found) if isinstance(found, str) else None
    if match and match[2] == unit:
        return float(match[1])
    if isinstance(found, bool) or not isinstance(found, int | float):
        example = f'"9.4 {unit}"' if unit else "0.9"
        raise InputError(f"{place}: {found!r} is not a number of {unit or 'this metric'}; write e.g. {example}")
    return float(found)


def _set(place: str, table: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    sets = table.get("set", {})
    if not isinstance(sets, Mapping):
        raise InputError(f'{place}.set: not a table; write e.g. set = {{ "flows.0.count" = 4 }}')
    return tuple(sorted(_flat(sets)))


def _link(place: str, table: Mapping[str, Any]) -> str:
    link = table.get("link", "")
    if not isinstance(link, str):
        raise InputError(f'{place}.link: not the name of a link; write e.g. link = "reverse"')
    return link


def _flat(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Pairs of dotted path and value; `link.rate` means the same with and without quotes."""
    pairs: list[tuple[str, Any]] = []
    for key, value in table.items():
        pairs += _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(f"{prefix}{key}", value)]
    return pairs


def _tables(document: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = document.get(name, [])
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise InputError(f"{name}: not a list of tables; write [[{name}]] above each")
    return found


def _check_keys(place: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise unknown(f"{place}: key".removeprefix(": "), str(key), list(known))


QUANTILE = re.compile(r"sojourn\s+(\d+(?:\.\d+)?)\s*%")
QUANTITY = re.compile(r"\s*(-?\d+(?:\.\d+)?(?:e-?\d+)?)\s*([a-zA-Z/%]*)\s*")
SHARE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")
