"""The format of Flent's data files: a JSON object, usually compressed.

`metadata` describes the test, `x_values` has the times of the steps in seconds, `results` a list of values per series,
interpolated to these times, null if missing, and `raw_values` the measurements, each an object with its time `t` in
seconds since 1970 and its value `val`. Rates are in Mbit/s, times in ms. Before version 4 raw values of `netperf`'s
UDP_RR were transactions per second; version 1 had the raw values in the series' metadata.
"""

from __future__ import annotations

import bz2
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sojourn.base.errors import InputError, unknown
from sojourn.base.files import write_file
from sojourn.base.inputs import parse_json, read_bytes
from sojourn.base.packed import decompress

Array: TypeAlias = NDArray[np.float64]

SUFFIXES = (".flent.gz", ".flent.bz2", ".flent", ".flnt")
COMPUTED = (" avg", " sum", " fairness", " totals")
"""Ends of the series that Flent computes."""
STATISTICS = {
    "tcp_cwnd": "segments",
    **dict.fromkeys(("tcp_rtt", "tcp_rtt_var", "tcp_bbr_mrtt"), "ms"),
    **dict.fromkeys(("tcp_pacing_rate", "tcp_delivery_rate", "tcp_bbr_bw"), "Mbit/s"),
}
"""Unit of a statistic of a TCP socket; others, such as gains, have none."""
VERSION = 4
"""Version of the format that is written, and the newest that can be read."""


@dataclass(frozen=True)
class FlentData:
    """Contents of a data file."""

    metadata: Mapping[str, Any]
    x_values: Sequence[float]
    """Times of the steps in s since the start of the test."""
    results: Mapping[str, Sequence[float | None]]
    """Values of each series at these times, in Mbit/s or ms, or an index."""
    raw: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """Raw measurements of each series, with `t` in s since 1970."""

    @property
    def name(self) -> str:
        """Name of the test, such as `rrul`."""
        return str(self.metadata["NAME"])

    @property
    def start_s(self) -> float:
        """Start of the test in s since 1970."""
        stamps = [one["t"] for values in self.raw.values() for one in values if "t" in one]
        return _seconds(str(self.metadata.get("T0") or self.metadata["TIME"]), min(stamps, default=None))

    @property
    def traffic_s(self) -> tuple[float, float]:
        """Start and end of the test's traffic in s; pings start earlier and end later by equal times."""
        total = _number(self.metadata.get("TOTAL_LENGTH")) or max(self.x_values)
        length = _number(self.metadata.get("LENGTH")) or total
        return max(0.0, (total - length) / 2), min(total, (total + length) / 2)

    def unit(self, series: str) -> str:
        """Unit of a series, from its metadata or its name."""
        metadata = self.metadata.get("SERIES_META", {})
        unit = metadata.get(series, {}).get("UNITS") if isinstance(metadata, Mapping) else None
        return {"Mbits/s": "Mbit/s", "Idx": ""}.get(str(unit), str(unit)) if unit else _unit_by_name(series)

    def steps(self, series: str) -> tuple[Array, Array]:
        """Times in s and values of a series, without missing steps; raises `InputError` for an unknown series."""
        if series not in self.results:
            raise unknown("series", series, list(self.results))
        pairs = [(x, y) for x, y in zip(self.x_values, self.results[series], strict=True) if y is not None]
        times, values = np.array(pairs, dtype=float).reshape(-1, 2).T
        return times, values

    def samples(self, series: str) -> tuple[Array, Array]:
        """Times in s and values of a series' raw measurements, or of its steps if the file has none."""
        raw = [(one["t"], one["val"]) for one in self.raw.get(series, ()) if "t" in one and "val" in one]
        if not raw:
            return self.steps(series)
        start = self.start_s
        times, values = np.array(raw, dtype=float).T
        return times - start, values


def _unit_by_name(series: str) -> str:
    """Unit of a series without metadata, such as `TCP upload::tcp_cwnd`; empty if unknown."""
    if is_statistic(series):
        return STATISTICS.get(series.rpartition("::")[2], "")
    if "(ms)" in series or series.endswith("_rtt"):
        return "ms"
    return "Mbit/s" if "TCP" in series else ""


def is_statistic(series: str) -> bool:
    """Whether a series is a statistic of a TCP socket, such as `TCP upload::tcp_cwnd`, and not a flow's rate."""
    return series.rpartition("::")[2].startswith("tcp_")


def is_computed(series: str) -> bool:
    """Whether Flent computes a series of others, such as `TCP upload avg`."""
    return series.endswith(COMPUTED)


def is_flent(path: Path) -> bool:
    """Whether a file's name has a suffix of Flent."""
    return path.name.endswith(SUFFIXES)


def load_flent(path: Path | str) -> FlentData:
    """Read a data file, plain or compressed by gzip or bzip2, by its contents. Raises `InputError`."""
    path = Path(path)
    try:
        document = parse_json(decompress(path, read_bytes(path, "data file of Flent")))
    except InputError as error:
        raise InputError(str(error) if str(error).startswith(str(path)) else f"{path}: {error}") from None
    except ValueError:
        raise InputError(f"{path}: not a data file of Flent (not JSON); give a .flent.gz") from None
    return _from_document(path, document)


def save_flent(data: FlentData, path: Path | str) -> Path:
    """Write a data file, compressed according to its suffix."""
    path = Path(path)
    if not is_flent(path):
        raise InputError(f"{path}: not a file name of Flent; end it in .flent.gz")
    document = {
        "metadata": {**data.metadata, "DATA_FILENAME": path.name},
        "version": VERSION,
        "x_values": list(data.x_values),
        "results": {name: list(values) for name, values in data.results.items()},
        "raw_values": {name: [dict(one) for one in values] for name, values in data.raw.items()},
    }
    text = json.dumps(document, indent=1, sort_keys=True, allow_nan=False).encode()
    # Without timestamp and name in gzip's header the file is reproducible.
    packed = gzip.compress(text, mtime=0) if path.name.endswith(".gz") else text
    packed = bz2.compress(text) if path.name.endswith((".bz2", ".flnt")) else packed
    return write_file(path, lambda file: file.write(packed))


def _from_document(path: Path, document: Any) -> FlentData:
    if not isinstance(document, dict) or not {"metadata", "x_values", "results"} <= document.keys():
        raise InputError(f"{path}: not a data file of Flent (no metadata, x_values and results); give a .flent.gz")
    version = document.get("version", 1)
    if not isinstance(version, int) or isinstance(version, bool) or version > VERSION:
        raise InputError(f"{path}: version {version!r} of Flent's format; versions up to {VERSION} can be read")
    metadata, x_values, results = document["metadata"], document["x_values"], document["results"]
    if not isinstance(metadata, dict) or not isinstance(metadata.get("NAME"), str):
        raise InputError(f"{path}: metadata.NAME: not the name of a test; give a file written by Flent")
    stamp = metadata.get("T0") or metadata.get("TIME")
    if not isinstance(stamp, str) or not STAMP.fullmatch(stamp):
        raise InputError(
            f"{path}: metadata.TIME: not a time such as 2026-01-31T12:00:00.0Z; give a file written by Flent"
        )
    if not isinstance(x_values, list) or not x_values or not all(_number(x) is not None for x in x_values):
        raise InputError(f"{path}: x_values: not a list of times; the test has no results")
    if not isinstance(results, dict):
        raise InputError(f"{path}: results: no series; the test has no results")
    for name, values in results.items():
        _check_series(path, name, values, len(x_values))
    raw = {name: _raw(path, name, values, version) for name, values in _raw_values(document, version).items()}
    return FlentData(metadata, [float(x) for x in x_values], results, raw)


def _check_series(path: Path, name: str, values: Any, steps: int) -> None:
    if not isinstance(values, list) or len(values) != steps:
        raise InputError(f"{path}: results.{name}: not a value for each of {steps} steps; the file is damaged")
    invalid = next((at for at, value in enumerate(values) if value is not None and _number(value) is None), None)
    if invalid is not None:
        raise InputError(f"{path}: results.{name}: value {invalid} is not a number; the file is damaged")


def _raw_values(document: Mapping[str, Any], version: int) -> Mapping[str, Any]:
    if version > 1:
        found = document.get("raw_values", {})
        return found if isinstance(found, dict) else {}
    metadata = document["metadata"].get("SERIES_META", {})
    series = metadata.items() if isinstance(metadata, dict) else ()
    return {name: one["RAW_VALUES"] for name, one in series if isinstance(one, dict) and "RAW_VALUES" in one}


def _raw(path: Path, name: str, values: Any, version: int) -> list[dict[str, Any]]:
    """Raw measurements of a series, converted to the units of version 4."""
    if not isinstance(values, list) or not all(isinstance(one, dict) for one in values):
        raise InputError(f"{path}: raw_values.{name}: not a list of measurements; the file is damaged")
    found = []
    for at, one in enumerate(values):
        entry = {key: value for key, value in one.items() if key not in ("t", "val") or value is not None}
        for key in ("t", "val"):
            if key in entry and _number(entry[key]) is None:
                raise InputError(f"{path}: raw_values.{name}: {key} of measurement {at} is not a number")
        if version < UDP_IN_MS and "UDP" in name and "dur" in entry and entry.get("val"):
            entry["val"] = 1000 / entry["val"]
        found.append(entry)
    return found


def _number(value: Any) -> float | None:
    """The value if it is a finite number, otherwise None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return float(value)


def _seconds(stamp: str, near: float | None) -> float:
    """Parse a timestamp to s since 1970; the time zone of one without is inferred from `near`, a time just after it."""
    match = STAMP.fullmatch(stamp)
    assert match, stamp
    whole = datetime.strptime(match[1], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    seconds = whole.timestamp() + float(f"0.{match[2] or 0}")
    if match[3] or near is None:
        return seconds
    return seconds + round((near - seconds) / ZONE_S) * ZONE_S


STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z?)")
ZONE_S = 900
"""Granularity of time zones."""
UDP_IN_MS = 4
"""First version whose raw values of UDP_RR are times."""
