"""Traces of delivery opportunities: arrays of whole milliseconds, one entry per opportunity of one MTU.

Reading, statistics, conversion and synthesis are the core's; here are files and names.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn import _core
from sojourn.base.errors import InputError, unknown
from sojourn.base.files import write_file
from sojourn.base.inputs import read_text

Opportunities = NDArray[np.uint32]
"""Milliseconds of the opportunities of a lap, non-decreasing; the last one is its length."""

MTU = 1500
"""Bytes that one opportunity carries where nothing else is said."""


@dataclass(frozen=True)
class Preset:
    """Parameters of the LTE-like model, fitted to a recorded trace."""

    name: str
    fitted_to: str
    """Name of the recording."""
    mean_mbps: float
    """Time average of the rate in Mbit/s."""


def presets() -> dict[str, Preset]:
    """Presets of `synth_lte` by name."""
    return {preset["name"]: Preset(**preset) for preset in json.loads(_core.lte_presets())}


def synth_lte(preset: str, seconds: int, seed: int) -> Opportunities:
    """Opportunities of `seconds` s like those of an LTE link; the same seed gives the same trace on every machine."""
    return _core.synth_lte(preset, seconds, seed)


def load_trace(path: Path | str, *, mtu: int = MTU, bursts: str | None = None, seed: int = 1) -> Opportunities:
    """Read a trace in Mahimahi's format, or a series of rates in a .csv file as opportunities of `mtu` bytes.

    Those of a series are evenly spread, or come in the bursts of a preset of `synth_lte`.
    """
    if not is_csv(path):
        return _core.load_trace(str(path))
    if bursts is not None and bursts not in (known := presets()):
        raise unknown("preset", bursts, list(known))
    try:
        return _core.trace_of_csv(read_text(path, "CSV"), mtu, bursts, seed)
    except InputError as error:
        text = str(error)
        raise error if text.startswith(str(path)) else InputError(f"{path}{text}") from None


def write_trace(opportunities_ms: Opportunities, path: Path | str, *, step_ms: int = 100, mtu: int = MTU) -> Path:
    """Write a trace: in a .csv file its rates in steps of `step_ms`, else one millisecond per line and opportunity."""
    if is_csv(path):
        text = _core.csv_of_trace(opportunities_ms, step_ms, mtu)
    else:
        text = "\n".join(map(str, opportunities_ms.tolist())) + "\n"
    return write_file(path, lambda file: file.write(text.encode()))


def trace_stats(opportunities_ms: Opportunities, *, mtu: int = MTU) -> dict[str, Any]:
    """Statistics of a trace: rate and variability, autocorrelation, gaps, outages."""
    found: dict[str, Any] = json.loads(_core.trace_stats(opportunities_ms, mtu))
    return found


def is_csv(path: Path | str) -> bool:
    """Whether a file holds a series of rates."""
    return Path(path).suffix.lower() == ".csv"
