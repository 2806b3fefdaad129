"""The data of one of Flent's tests, made out of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import polars as pl

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.base.units import seconds
from sojourn.io.flent.call import CALL_UNITS, DELAY, call
from sojourn.io.flent.files import Array, Flent
from sojourn.io.flent.traffic import Traffic, traffic_of
from sojourn.model.results.result import Result


def export(
    result: Result, *, test: str | None = None, title: str | None = None, batch: Mapping[str, str] | None = None
) -> Flent:
    """The data that Flent would have of a run: goodput of each TCP flow, pings, averages, sums, fairness, a call.

    The run needs `probes.flows`, whose step is that of the data, for pings `probes.transfers` and a group of flows of
    kind `request`, and for a call `probes.packets`. Raw values are the samples of the probe, each ping and each packet
    of the call; a ping that was lost is as long as it took to ask again. A simulated run begins in 1970. `batch` has a
    name and a title of several runs that belong together.
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
    about = _about(result, traffic, title, batch, start_s, step_s)
    means = {name: pair[1] for name, pair in raw.items()} | computed
    about["SERIES_META"] = {
        name: {"IDX": at, "UNITS": _unit(name), "MEAN_VALUE": _mean(values)}
        for at, (name, values) in enumerate(means.items())
    }
    measured = {
        name: [{"t": round(start_s + t, 9), "val": float(value)} for t, value in zip(*pair, strict=True)]
        for name, pair in raw.items()
    }
    results = {name: _listed(values) for name, values in {**series, **computed}.items()}
    return Flent(about, [round(float(x), 9) for x in grid], results, {**measured, **{name: [] for name in computed}})


def _goodputs(result: Result, traffic: Traffic) -> dict[str, tuple[Array, Array]]:
    """Times in s and goodput in Mbit/s of each flow's samples."""
    table = result.table("flows").select("flow", t=pl.col("time_ns") / 1e9, y=pl.col("goodput_bps") / 1e6)
    parts = {int(key[0]): part for key, part in table.partition_by("flow", as_dict=True).items()}
    pairs = zip(traffic.flows, traffic.names, strict=True)
    return {name: (parts[flow.number]["t"].to_numpy(), parts[flow.number]["y"].to_numpy()) for flow, name in pairs}


def _pings(result: Result, traffic: Traffic) -> dict[str, tuple[Array, Array]]:
    """Times in s and round-trip times in ms of pings; the first one of a flow, with its handshake, is left out."""
    if not traffic.pings:
        return {}
    table = result.table("transfers").sort("start_ns")
    asked = table.filter(pl.int_range(pl.len()).over("flow") > 0)
    found = {}
    for group, name in traffic.pings.items():
        own = asked.filter(pl.col("group") == group)
        if own.is_empty():
            raise InputError(f"{result.folder or result}: none of its pings came back; give a longer duration")
        found[name] = (own["start_ns"].to_numpy() / 1e9, own["duration_ns"].to_numpy() / 1e6)
    return found


def _computed(traffic: Traffic, series: Mapping[str, Array]) -> dict[str, Array]:
    """Series that Flent computes of the others."""
    found: dict[str, Array] = {}
    definition = traffic.definition
    for way, streams in definition.ways.items() if definition.sums else ():
        own = np.array([series[name] for name in traffic.names if name.startswith(f"TCP {way}")])
        if len(own):
            found[f"TCP {way} avg"] = own.mean(axis=0)
            found[f"TCP {way} sum"] = own.sum(axis=0)
            if streams.each.startswith("::") or traffic.test.startswith("rtt_fair"):
                found[f"TCP {way} fairness"] = np.array([_core.jain(column.tolist()) for column in own.T], dtype=float)
    if traffic.test.startswith(("rrul", "voip-rrul")):
        found["TCP totals"] = np.sum([series[name] for name in traffic.names], axis=0)
    if traffic.pings and not traffic.test.startswith(("tcp", "ping")):
        found["Ping (ms) avg"] = _mean_of_some(np.array([series[name] for name in traffic.pings.values()]))
    if DELAY in series:
        found["VoIP::induced_delay"] = series[DELAY] - np.nanmin(series[DELAY])
    return found


def _about(
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
    there = values[np.isfinite(values)]
    return float(there.mean()) if len(there) else None


def _mean_of_some(rows: Array) -> Array:
    """Mean of what there is at each step; NaN where nothing is."""
    there = np.isfinite(rows)
    count = there.sum(axis=0)
    total = np.where(there, rows, 0.0).sum(axis=0)
    found: Array = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return found


def _listed(values: Sequence[float] | Array) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
