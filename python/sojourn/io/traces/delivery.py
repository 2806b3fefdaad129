"""Traces of delivery opportunities: arrays of integer milliseconds, one entry per opportunity of one MTU.

The core reads, converts, synthesises and computes statistics; this module handles files and presets.
"""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn import _core
from sojourn.base.errors import InputError, unknown
from sojourn.base.files import write_file
from sojourn.base.inputs import first_bytes, read_text

Opportunities = NDArray[np.uint32]
"""Times in ms of the opportunities of one lap, non-decreasing; the last one is the lap's length."""

COLUMN_UNITS = "s,Mbit/s"
"""Units of columns of numbers alone, as recordings of mobile networks have them."""
COLUMNS = re.compile(rb"\s*[0-9.]+(?:[ \t]+|[ \t]*;[ \t]*)[0-9.]+[ \t]*(?:[\r\n]|\Z)")
MAX_ROW = 1 << 10
MTU = 1500
"""Default bytes per opportunity."""


@dataclass(frozen=True)
class Preset:
    """Preset of the LTE-like model, fitted to a recorded trace."""

    name: str
    fitted_to: str
    """Name of the recording."""
    mean_mbps: float
    """Time average of the rate in Mbit/s."""


def presets() -> dict[str, Preset]:
    """Presets of `synth_lte` by name."""
    return {preset["name"]: Preset(**preset) for preset in json.loads(_core.lte_presets())}


def synth_lte(preset: str, seconds: int, seed: int) -> Opportunities:
    """Synthesise `seconds` s of an LTE-like link; a seed gives the same trace on every machine."""
    return _core.synth_lte(preset, seconds, seed)


def load_trace(
    path: Path | str, *, mtu: int = MTU, bursts: str | None = None, seed: int = 1, units: str | None = None
) -> Opportunities:
    """Read a trace in Mahimahi's format, or a series of rates as opportunities of `mtu` bytes.

    A series has a row of a time and a rate for each, in a .csv file, or as two columns of numbers in any other file.
    `units` are those of numbers without units, "s,Mbit/s"; such columns have these unless it is given. Opportunities of
    a series are evenly spaced, or in bursts as in a preset of `synth_lte`. Raises `InputError`.
    """
    is_columns = has_columns(path)
    if not (is_columns or is_csv(path)):
        if units is not None:
            raise InputError(f"units: {path} has opportunities in ms; leave the units out")
        return _core.load_trace(str(path))
    if bursts is not None and bursts not in (known := presets()):
        raise unknown("preset", bursts, list(known))
    try:
        return _core.trace_of_csv(
            read_text(path, "CSV"), mtu, bursts, seed, _units(units or (COLUMN_UNITS if is_columns else ""))
        )
    except InputError as error:
        text = str(error)
        if units is None and "has no unit" in text:
            text += f", or give those of all rows, --units {COLUMN_UNITS}"
        raise error if text.startswith(str(path)) else InputError(f"{path}{text}") from None


def write_trace(opportunities_ms: Opportunities, path: Path | str, *, step_ms: int = 100, mtu: int = MTU) -> Path:
    """Write a trace: as rates in steps of `step_ms` to a .csv file, otherwise a line in ms per opportunity."""
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
    """Whether a file holds a series of rates, by its suffix."""
    return Path(path).suffix.lower() == ".csv"


def is_series(path: Path | str) -> bool:
    """Whether a file holds a series of rates, by its suffix, or by two columns in its first row."""
    return is_csv(path) or has_columns(path)


def has_columns(path: Path | str) -> bool:
    """Whether the first row of a file has two numbers alone, separated by spaces, tabs or a semicolon."""
    return COLUMNS.match(first_bytes(path, MAX_ROW).removeprefix(codecs.BOM_UTF8)) is not None


def _units(text: str) -> tuple[str, str] | None:
    """Units of times and rates; None for an empty text."""
    if not text:
        return None
    words = [word.strip() for word in text.split(",")]
    if len(words) != 2 or not all(words):
        raise InputError(f": units: {text!r} is not a unit of time and one of rate; write e.g. {COLUMN_UNITS}")
    return words[0], words[1]
