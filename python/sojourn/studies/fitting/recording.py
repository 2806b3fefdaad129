"""Numbers of a recording with their uncertainty: a data file of Flent, a measured log, or a capture beside the senders.

One recording is a single sample, so the uncertainty comes from its own variation: the block bootstrap (E. Carlstein,
Annals of Statistics 14, 1986, with blocks drawn as by H. R. Künsch, 17, 1989) draws blocks of time with replacement,
which preserves correlations within a block, and computes the numbers of the drawn sample. Variation slower than a
block, and rare events, are not captured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sojourn.base.errors import InputError
from sojourn.io.flent.files import FlentData, is_statistic
from sojourn.io.measured.files import is_measured, load_measured
from sojourn.io.pcap.capture import load_capture
from sojourn.io.pcap.goodput import new_bytes
from sojourn.io.pcap.sender import sender_rtt, without_delayed_acks
from sojourn.studies.fitting.data import CorrelatedNumbers, Data, Number, metric_named
from sojourn.studies.fitting.observed import PINGS
from sojourn.studies.fitting.space import space_of
from sojourn.studies.fitting.surfaces import Array

BLOCKS = 12
"""Blocks of a recording. Fewer would give a poor estimate of the variation; more would be shorter than the time between
losses.
"""
MIN_LENGTH_S = 10.0
"""Minimum length of a recording to fit."""
DRAWS = 1000
BIN_S = 0.1
"""Bin width of a capture's goodput."""
QUANTILES = (5, 25, 50, 75, 90)
"""Quantiles of a capture's round-trip times, in percent."""


@dataclass(frozen=True)
class Track:
    """A time series of a measured quantity."""

    times: Array
    """In s."""
    values: Array
    """One row per time."""
    metrics: tuple[str, ...]
    """Metrics computed from it."""
    digits: int
    """Decimals of the metrics."""
    number: Callable[[Array], Array]
    """Computes the metrics from some of the rows."""


@dataclass(frozen=True)
class Recording:
    """Time series, and the time range in s that counts."""

    tracks: tuple[Track, ...]
    begin: float
    end: float
    warning: str | None = None


def is_recording(path: Path) -> bool:
    """Whether a file is a data file of Flent or a capture, by its name, or a measured log, by its contents."""
    return path.name.endswith(CAPTURES) or is_measured(path)


def read_recording(path: Path, free: Mapping[str, Any], skip_s: float, window_s: float) -> tuple[Data, str | None]:
    """Numbers of a recording from `skip_s` on, with the free keys, and a warning about omitted data.

    The runs that explain them have a statistics window of `window_s`.
    """
    found = of_capture(path, skip_s) if path.name.endswith(CAPTURES) else of_measured(path, skip_s)
    if not free:
        raise InputError(f'{path}: does not name free keys; give e.g. --free link.rate="1..100 Mbit/s"')
    try:
        return data_of_recording(found, free, window_s), found.warning
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def of_measured(path: Path, skip_s: float) -> Recording:
    """Numbers of a data file of Flent or of a measured log."""
    data, notes = load_measured(path)
    try:
        found = of_flent(data, skip_s)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    warnings = [*notes, *([found.warning] if found.warning else [])]
    return replace(found, warning="; ".join(warnings) or None)


def of_flent(data: FlentData, skip_s: float) -> Recording:
    """Goodput of all downloads and of all uploads, and pings, during the test's traffic."""
    begin, end = data.traffic_s
    sums = {direction: _sum(data, direction) for direction in ("download", "upload")}
    both = {direction: pair for direction, pair in sums.items() if pair is not None}
    tracks = []
    for direction, (times, values) in both.items():
        metric = (
            "tcp goodput" if len(both) == 1 else f"tcp goodput {'forward' if direction == 'download' else 'reverse'}"
        )
        tracks.append(Track(times, values[:, None], (metric,), 3, _means))
    pings = [name for name in data.results if name.startswith("Ping (ms)") and not name.endswith("avg")]
    if pings:
        chosen = next((name for name in pings if "ICMP" in name), pings[0])
        times, values = data.samples(chosen)
        shares = PINGS[:-1]
        names = ("ping mean", *(f"ping {share}%" for share in shares))
        tracks.append(Track(times, values[:, None], names, _digits(values), _delays(shares)))
    if not tracks:
        raise InputError(f"{data.name}: no TCP flows and no pings in it; nothing can be fitted")
    others = f"of {len(pings)} series of pings the first one, {chosen}, is used" if len(pings) > 1 else None
    return Recording(tuple(tracks), begin + skip_s, end, others)


def of_capture(path: Path, skip_s: float) -> Recording:
    """Goodput, retransmissions and round-trip times of the TCP flows whose data a capture beside the sender has."""
    capture = load_capture(path)
    try:
        samples = without_delayed_acks(sender_rtt(capture.packets, capture.blocks))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    start = int(capture.packets["time_ns"].min())  # type: ignore[arg-type]
    packets = capture.packets.with_columns(
        s=(pl.col("time_ns") - start) / 1e9, new=pl.Series(new_bytes(capture.packets), dtype=pl.Int64)
    ).filter((pl.col("protocol") == "tcp") & (pl.col("payload") > 0))
    end = float((capture.packets["time_ns"].max() - start) / 1e9)  # type: ignore[operator]
    steps = np.arange(0.0, end + BIN_S, BIN_S)
    counts, _ = np.histogram(packets["s"].to_numpy(), steps, weights=packets["new"].to_numpy() * 8e-6 / BIN_S)
    both = packets.select(again=pl.col("payload").cast(pl.Int64) - pl.col("new"), payload="payload").to_numpy()
    times = (samples["time_ns"].to_numpy() - start) / 1e9
    names = ("rtt mean", *(f"rtt {share}%" for share in QUANTILES))
    tracks = (
        Track(steps[:-1], counts[:, None], ("tcp goodput",), 3, _means),
        Track(packets["s"].to_numpy(), both.astype(float), ("retransmitted",), 2, _share),
        Track(times, samples["rtt_ns"].to_numpy()[:, None] / 1e6, names, STEP_DIGITS, _delays(QUANTILES)),
    )
    return Recording(tracks, skip_s, float(steps[-2]), capture.warning)


def data_of_recording(recording: Recording, free: Mapping[str, Any], window_s: float) -> Data:
    """Numbers of a recording with standard deviations; runs that explain them have a window of `window_s`."""
    length = recording.end - recording.begin
    if length < MIN_LENGTH_S:
        raise InputError(f"{max(length, 0):.3g} s are left to measure in, but {MIN_LENGTH_S:g} s are needed; skip less")
    edges = np.linspace(recording.begin, recording.end, BLOCKS + 1)
    blocks = [[_between(track, low, high) for low, high in pairwise(edges)] for track in recording.tracks]
    for track, parts in zip(recording.tracks, blocks, strict=True):
        if empty := next((at for at, part in enumerate(parts) if not len(part)), None):
            low, high = edges[empty : empty + 2]
            raise InputError(
                f"{track.metrics[0]}: nothing was measured from {low:.3g} to {high:.3g} s; skip that interval"
            )
    numbers: list[Number] = []
    for track, parts in zip(recording.tracks, blocks, strict=True):
        values = track.number(np.concatenate(parts))
        for name, value, sd in zip(track.metrics, values, _deviations(track, parts), strict=True):
            metric = metric_named("recording", name)
            numbers.append(Number(metric.column, float(value), metric.unit, sd=float(sd), digits=track.digits))
    together = CorrelatedNumbers(tuple(range(len(numbers))), length / window_s, BLOCKS - 1)
    return Data(space_of(free), tuple(numbers), together=together)


def _deviations(track: Track, parts: Sequence[Array]) -> Array:
    """Standard deviations of a track's numbers, by drawing blocks."""
    random = np.random.default_rng([BLOCKS, DRAWS])
    places = random.integers(0, BLOCKS, (DRAWS, BLOCKS))
    drawn = np.array([track.number(np.concatenate([parts[place] for place in row])) for row in places])
    # The bootstrap variance of the mean lacks a degree of freedom; correct it by n / (n - 1).
    variance = drawn.var(axis=0, ddof=1) * BLOCKS / (BLOCKS - 1)
    found: Array = np.sqrt(variance + _steps(track, np.concatenate(parts)) ** 2 / 12)
    return found


def _sum(data: FlentData, direction: str) -> tuple[Array, Array] | None:
    """Goodput of all flows of a direction at the sampling steps; None without such flows."""
    whole = f"TCP {direction} sum"
    if whole in data.results:
        return data.steps(whole)
    series = [name for name in data.results if name.startswith(f"TCP {direction}")]
    flows = [name for name in series if not (name.endswith(NOT_FLOWS) or is_statistic(name))]
    if not flows:
        return None
    rows = np.array([[np.nan if one is None else one for one in data.results[name]] for name in flows], dtype=float)
    there = np.isfinite(rows).any(axis=0)
    return np.asarray(data.x_values, dtype=float)[there], np.nansum(rows[:, there], axis=0)


def _between(track: Track, low: float, high: float) -> Array:
    found: Array = track.values[(track.times >= low) & (track.times < high)]
    return found


def _means(rows: Array) -> Array:
    found: Array = rows.mean(axis=0)
    return found


def _share(rows: Array) -> Array:
    return np.array([100 * rows[:, 0].sum() / rows[:, 1].sum()])


def _delays(shares: Sequence[int]) -> Callable[[Array], Array]:
    quantiles = [share / 100 for share in shares]

    def number(rows: Array) -> Array:
        return np.concatenate(([rows.mean()], np.quantile(rows[:, 0], quantiles)))

    return number


def _steps(track: Track, rows: Array) -> Array:
    """Distance of each number from the next possible value.

    Delays in whole packet times have quantiles that are equal in every draw, and differ by a packet time at another
    rate.
    """
    if len(track.metrics) == 1:
        return np.zeros(1)
    values = np.unique(np.round(rows[:, 0], STEP_DIGITS))
    found = [0.0]
    for value in track.number(rows)[1:]:
        below, above = values[values < value - STEP], values[values > value + STEP]
        low, high = below[-1] if len(below) else value, above[0] if len(above) else value
        found.append(float(high - low) / 2)
    return np.array(found)


def _digits(values: Array) -> int:
    """Decimals of the values, at most three."""
    return next((digits for digits in range(3) if np.allclose(values, np.round(values, digits), atol=1e-9)), 3)


STEP_DIGITS = 1
STEP = 0.5 * 10**-STEP_DIGITS
"""Delays closer than this, in ms, are equal: hosts timestamp before the NIC."""
CAPTURES = (".pcap", ".pcapng", ".cap")
NOT_FLOWS = (" avg", " sum", " fairness")
