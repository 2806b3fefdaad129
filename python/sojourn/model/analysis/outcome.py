"""Quality of Outcome: latency and loss of a run's links, scored for an application from 0 to 100.

draft-ietf-ippm-qoo-06, section 7.1, as implemented by LibreQoS (`lqos_utils`, module `qoo`): each requirement has an
`optimal` value (the draft's ROP), up to which the application works as well as it can, and an `unacceptable` value (its
CPUP), from which on the application is unusable. A measured value scores 100 up to the first, 0 from the second on, and
is interpolated linearly between them; the result is the minimum score of all requirements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sojourn import _core
from sojourn.base.errors import InputError, unknown

if TYPE_CHECKING:
    import polars as pl

    from sojourn.model.results.result import Result

POINTS = 1000
"""Equiprobable points that represent a distribution of times; percentiles have no finer resolution."""


@dataclass(frozen=True)
class Range:
    """Range of a requirement."""

    optimal: float
    """Up to this value the application works as well as it can."""
    unacceptable: float
    """From this value on the application is unusable; greater than `optimal`."""

    def score(self, measured: float) -> float:
        """Return 100 up to `optimal`, 0 from `unacceptable` on, and a linear interpolation between them."""
        share = (measured - self.optimal) / (self.unacceptable - self.optimal)
        return 100.0 * (1 - min(max(share, 0.0), 1.0))


@dataclass(frozen=True)
class App:
    """Requirements of an application."""

    name: str
    latency_ms: tuple[tuple[float, Range], ...]
    """Percentiles of the round-trip time in percent, each with its range in ms; at least one."""
    loss: Range
    """Range of the packet loss ratio."""


@dataclass(frozen=True)
class Outcome:
    """Quality of Outcome of a run for an application."""

    app: App
    score: float
    latency: tuple[tuple[float, float, float], ...]
    """Percentile in percent, the time at that percentile in ms, and its score."""
    loss: float
    """Packet loss ratio."""
    loss_score: float


def _app(name: str, latency_ms: tuple[float, float], loss_percent: tuple[float, float]) -> App:
    return App(name, ((95.0, Range(*latency_ms)),), Range(*(percent / 100 for percent in loss_percent)))


APPS = {
    app.name: app
    for app in (
        _app("web", (50, 100), (0.5, 1)),
        _app("video", (50, 100), (0.1, 1)),
        _app("video-call", (50, 100), (0.1, 0.5)),
        _app("audio", (50, 100), (0.1, 1)),
        _app("backup", (100, 150), (0.1, 1)),
        _app("gaming", (50, 100), (0.5, 1)),
    )
}
"""Requirements of LibreQoS's profiles (`src/qoo_profiles.json`): 95th percentile of the round-trip time, and loss."""


def outcome(app: App, result: Result, group: int = 0) -> Outcome:
    """Score the round trip of a flow group's packets, for an application.

    The round-trip time is the propagation time plus a sojourn time of each queue on the path, taken as independent; the
    loss combines drops and losses on the medium of all links on the path.
    """
    names, base_ms = path_of(result, group)
    histogram = result.histogram
    total = np.array([base_ms])
    for name in names:
        total = _sum(total, points(histogram.filter(histogram["link"] == name)))
    links = {row["link"]: row for row in result.links.to_dicts()}
    kept = 1.0
    for name in names:
        row = links[name]
        kept *= 1 - (row["dropped"] + row["lost"]) / max(row["arrived"], 1)
    return score_samples(app, total, 1 - kept)


def score_samples(app: App, times_ms: NDArray[np.float64], loss: float) -> Outcome:
    """Score equiprobable times and a loss ratio."""
    latency = []
    for percent, wanted in app.latency_ms:
        at = float(np.quantile(times_ms, percent / 100, method="inverted_cdf"))
        latency.append((percent, at, wanted.score(at)))
    loss_score = app.loss.score(loss)
    return Outcome(app, min(loss_score, *(score for _, _, score in latency)), tuple(latency), loss, loss_score)


def path_of(result: Result, group: int = 0) -> tuple[list[str], float]:
    """Return the links that a flow group's packets cross in both directions, and their propagation time in ms.

    For a shell these are its two directions, whatever its command sent.
    """
    if result.is_log:
        raise InputError(f"{result.folder}: a log has no reverse path; give a result")
    flows = result.scenario.document["flows"]
    if result.is_shell:
        if group:
            raise InputError("--flows: a shell has no flow groups; leave it out, both directions are rated")
        return result.link_names, 1e3 * result.scenario.links_rtt_s
    if not 0 <= group < len(flows):
        raise InputError(f"--flows: no flows[{group}]; write a number from 0 to {len(flows) - 1}")
    links = result.scenario.links
    names = [name for route in result.scenario.routes[group] for name in route] or ["link"]
    known = set(result.links["link"]) & set(result.link_names)
    for name in names:
        if name not in known or name not in links or "wlan_rate" in links[name]:
            raise InputError(f"{result.folder}: {name} is a wireless LAN, whose channel access times are not covered")
    return names, 1e3 * result.scenario.base_rtt_s(group)


def points(histogram: pl.DataFrame) -> NDArray[np.float64]:
    """Equiprobable times in ms that represent a histogram; a single 0 for an empty one."""
    if histogram.is_empty():
        return np.zeros(1)
    ordered = histogram.sort("lower_ms")
    reached = np.cumsum(ordered["count"].to_numpy()) / ordered["count"].sum()
    places = np.searchsorted(reached, (np.arange(POINTS) + 0.5) / POINTS)
    middles = (ordered["lower_ms"] + ordered["upper_ms"]).to_numpy() / 2
    return np.asarray(middles[places], dtype=np.float64)


def _sum(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distribution of the sum of two independent times; as many points as one of them has."""
    both = np.sort(np.add.outer(a, b), axis=None)
    if both.size <= POINTS:
        return both
    return np.asarray(both[((np.arange(POINTS) + 0.5) / POINTS * both.size).astype(np.int64)])


def read_app(document: Mapping[str, Any], place: str) -> App:
    """Read the requirements of an application from a TOML document; errors name `place`."""
    for key in document:
        if key not in ("name", "latency", "loss"):
            raise InputError(f"{place}: {unknown('key', key, ['name', 'latency', 'loss'])}")
    rows, loss = document.get("latency"), document.get("loss")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{place}: [[latency]] is missing; write one with percentile = 95, optimal and unacceptable")
    if not isinstance(loss, dict):
        raise InputError(f'{place}: [loss] is missing; write it with optimal = "0.1%" and unacceptable = "1%"')
    latency = tuple(
        (_percentile(row, f"{place}: latency[{number}]"), _range(row, f"{place}: latency[{number}]", _ms, "50 ms"))
        for number, row in enumerate(rows)
    )
    name = document.get("name", "own")
    if not isinstance(name, str):
        raise InputError(f"{place}: name: {name!r} is not a text")
    return App(name, latency, _range(loss, f"{place}: loss", _share, "0.1%"))


def _percentile(row: Mapping[str, Any], place: str) -> float:
    percent = row.get("percentile")
    if isinstance(percent, bool) or not isinstance(percent, int | float) or not 0 < percent <= 100:
        raise InputError(
            f"{place}.percentile: {percent!r} is not a percentile; write a number above 0, at most 100, e.g. 95"
        )
    if percent > 100 * (1 - 1 / POINTS) and percent < 100:
        raise InputError(f"{place}.percentile: {percent} is too fine; write at most {100 * (1 - 1 / POINTS):g}, or 100")
    return float(percent)


def _range(row: Mapping[str, Any], place: str, read: Any, example: str) -> Range:
    for key in row:
        if key not in ("percentile", "optimal", "unacceptable"):
            raise InputError(f"{place}: {unknown('key', key, ['percentile', 'optimal', 'unacceptable'])}")
    ends = []
    for key in ("optimal", "unacceptable"):
        try:
            ends.append(read(row[key]))
        except KeyError:
            raise InputError(f'{place}.{key}: missing; write e.g. {key} = "{example}"') from None
        except (InputError, ValueError, TypeError, AttributeError):
            raise InputError(f'{place}.{key}: {row[key]!r} is not a value; write e.g. "{example}"') from None
    if ends[0] >= ends[1]:
        raise InputError(f"{place}.unacceptable: {row['unacceptable']} is not above the optimum; write a larger one")
    return Range(*ends)


def _ms(value: str) -> float:
    return float(_core.duration_ns(value)) / 1e6


def _share(value: str) -> float:
    number, percent, rest = value.partition("%")
    if not percent or rest.strip():
        raise ValueError(value)
    return float(number) / 100
