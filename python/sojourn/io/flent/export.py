"""Conversion of a result to the data of one of Flent's tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.base.late import pl
from sojourn.base.units import seconds
from sojourn.io.flent.call import CALL_UNITS, DELAY, call
from sojourn.io.flent.files import Array, FlentData
from sojourn.io.flent.traffic import Traffic, traffic_of
from sojourn.model.results.result import Result


def export(
    result: Result, *, test: str | None = None, title: str | None = None, batch: Mapping[str, str] | None = None
) -> FlentData:
    """Flent's data of a run: goodput of each TCP flow, pings, averages, sums, fairness, a call.

    The run needs `probes.flows`, whose step becomes the data's step; for pings `probes.transfers` and a flow group of
    kind `request`; and for a call `probes.packets`. Raw values are the probe's samples, each ping, and each packet of
    the call; a lost ping includes the time until its retransmission. A simulated run starts in 1970. `batch` has the
    name and title of a group of runs.
    """
    traffic = traffic_of(result, test)
    start_s = int(result.totals.get("emulation", {}).get("epoch_ns", 0)) / 1e9
    raw = _goodputs(result, traffic)
    step_s = seconds(str(result.scenario.document["probes"]["flows"]))
    grid = np.arange(1, 1 + round(result.duration_s / step_s)) * step_s
    raw |= _pings(result, traffic)
    if traffic.voice is not None:
        raw |= call(result, traffic.voice, step_s)
    series = {name: np.interp(grid, *pair, left=np.nan, right=np.nan) for name, pair in raw.items()}
    computed = _computed(traffic, series)
    metadata = _metadata(result, traffic, title, batch, start_s, step_s)
    means = {name: pair[1] for name, pair in raw.items()} | computed
    metadata["SERIES_META"] = {
        name: {"IDX": at, "UNITS": _unit(name), "MEAN_VALUE": _mean(values)}
        for at, (name, values) in enumerate(means.items())
    }
    raw_values = {
        name: [{"t": round(start_s + t, 9), "val": float(value)} for t, value in zip(*pair, strict=True)]
        for name, pair in raw.items()
    }
    results = {name: _with_nulls(values) for name, values in {**series, **computed}.items()}
    return FlentData(
        metadata, [round(float(x), 9) for x in grid], results, {**raw_values, **{name: [] for name in computed}}
    )


def _goodputs(result: Result, traffic: Traffic) -> dict[str, tuple[Array, Array]]:
    """Times in s and goodput in Mbit/s of each flow, by series."""
    table = result.table("flows").select("flow", t=pl.col("time_ns") / 1e9, y=pl.col("goodput_bps") / 1e6)
    parts = {int(key[0]): part for key, part in table.partition_by("flow", as_dict=True).items()}
    pairs = zip(traffic.flows, traffic.names, strict=True)
    return {name: (parts[flow.number]["t"].to_numpy(), parts[flow.number]["y"].to_numpy()) for flow, name in pairs}


def _pings(result: Result, traffic: Traffic) -> dict[str, tuple[Array, Array]]:
    """Times in s and RTTs in ms of pings, by series; the first of each flow, with its handshake, is excluded."""
    if not traffic.pings:
        return {}
    table = result.table("transfers").sort("start_ns")
    pings = table.filter(pl.int_range(pl.len()).over("flow") > 0)
    found = {}
    for group, name in traffic.pings.items():
        of_group = pings.filter(pl.col("group") == group)
        if of_group.is_empty():
            raise InputError(f"{result.folder or result}: none of its pings was answered; give a longer duration")
        found[name] = (of_group["start_ns"].to_numpy() / 1e9, of_group["duration_ns"].to_numpy() / 1e6)
    return found


def _computed(traffic: Traffic, series: Mapping[str, Array]) -> dict[str, Array]:
    """Series that Flent computes from others."""
    found: dict[str, Array] = {}
    definition = traffic.definition
    for direction, streams in definition.by_direction.items() if definition.sums else ():
        rates = np.array([series[name] for name in traffic.names if name.startswith(f"TCP {direction}")])
        if len(rates):
            found[f"TCP {direction} avg"] = rates.mean(axis=0)
            found[f"TCP {direction} sum"] = rates.sum(axis=0)
            if streams.each.startswith("::") or traffic.test.startswith("rtt_fair"):
                found[f"TCP {direction} fairness"] = np.array(
                    [_core.jain(column.tolist()) for column in rates.T], dtype=float
                )
    if traffic.test.startswith(("rrul", "voip-rrul")):
        found["TCP totals"] = np.sum([series[name] for name in traffic.names], axis=0)
    if traffic.pings and not traffic.test.startswith(("tcp", "ping")):
        found["Ping (ms) avg"] = _mean_of_finite(np.array([series[name] for name in traffic.pings.values()]))
    if DELAY in series:
        found["VoIP::induced_delay"] = series[DELAY] - np.nanmin(series[DELAY])
    return found


def _metadata(
    result: Result,
    traffic: Traffic,
    title: str | None,
    batch: Mapping[str, str] | None,
    start_s: float,
    step_s: float,
) -> dict[str, Any]:
    stamp = (EPOCH + timedelta(microseconds=round(start_s * 1e6))).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    batch = batch or {}
    engine = f"sojourn {_core.version()}, {result.engine}"
    return {
        "NAME": traffic.test,
        "TITLE": title or f"{result.scenario.aqm}, seed {result.seed}",
        "NOTE": f"{engine}, fingerprint {result.fingerprint}",
        "TIME": stamp,
        "T0": stamp,
        "STEP_SIZE": step_s,
        "LENGTH": result.duration_s,
        "TOTAL_LENGTH": result.duration_s,
        "HOST": traffic.hosts[0],
        "HOSTS": list(traffic.hosts),
        "LOCAL_HOST": "sojourn",
        "TEST_PARAMETERS": dict(traffic.parameters),
        "BATCH_NAME": batch.get("name"),
        "BATCH_TITLE": batch.get("title"),
        "BATCH_TIME": stamp if batch else None,
        "BATCH_UUID": None,
        "FLENT_VERSION": engine,
        "IP_VERSION": 4,
        "FAILED_RUNNERS": 0,
    }


def _unit(name: str) -> str:
    if name in CALL_UNITS:
        return CALL_UNITS[name]
    return "Idx" if name.endswith("fairness") else "Mbits/s" if name.startswith("TCP") else "ms"


def _mean(values: Array) -> float | None:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else None


def _mean_of_finite(rows: Array) -> Array:
    """Mean of the finite values at each step; NaN if there are none."""
    is_finite = np.isfinite(rows)
    count = is_finite.sum(axis=0)
    total = np.where(is_finite, rows, 0.0).sum(axis=0)
    found: Array = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return found


def _with_nulls(values: Sequence[float] | Array) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
