"""Columns of times and delays, as programs and spreadsheets write them: separated by commas, semicolons or blanks."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from sojourn.base.errors import InputError
from sojourn.io.flent.files import Array

MAX_ROWS = 1_000_000
TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
"""Units of times in s."""


def delays_of_columns(text: str, units: str | None) -> tuple[Array, Array]:
    """Times in s and delays in ms of the first two columns; raises `InputError`.

    The units are in the header (`time [s],delay [ms]`) or in `units` (`s,ms`).
    """
    lines = [(at, line) for at, line in enumerate(text.split("\n"), 1) if line.strip() and not line.startswith("#")]
    if len(lines) > MAX_ROWS:
        raise InputError(f"more than {MAX_ROWS} rows; shorten the file")
    header = lines[0][1] if lines and not re.match(r"\s*[-+.0-9]", lines[0][1]) else None
    time_unit, delay_unit = _units(header, units)
    rows = np.array([_row(at, line) for at, line in lines[header is not None :]], dtype=float).reshape(-1, 2)
    if not len(rows):
        raise InputError("no row in it; a row has a time and a delay, e.g. 0.5,20")
    times = rows[:, 0] * TIMES[time_unit]
    if np.any(np.diff(times) < 0):
        at = lines[int(np.argmax(np.diff(times) < 0)) + 1 + (header is not None)][0]
        raise InputError(f"line {at}: its time is before that of the row above; sort the rows")
    return times, rows[:, 1] * TIMES[delay_unit] * 1000


def _units(header: str | None, units: str | None) -> tuple[str, str]:
    found: Sequence[str] = [word.strip() for word in units.split(",")] if units else ()
    if not found and header is not None:
        found = re.findall(r"[\[(]\s*(\w+)\s*[\])]", header)[:2]
    if len(found) != 2 or any(word not in TIMES for word in found):
        known = ", ".join(TIMES)
        place = "--units" if units else "the header"
        raise InputError(f"{place}: no units of a time and a delay, of {known}; give e.g. --units s,ms")
    return found[0], found[1]


def _row(at: int, line: str) -> tuple[float, float]:
    cells = re.split(r"\s*[,;]\s*|\s+", line.strip())
    if len(cells) < 2 or not all(NUMBER.fullmatch(cell) for cell in cells[:2]):
        raise InputError(f"line {at}: not a time and a delay; write e.g. 0.5,20")
    return float(cells[0]), float(cells[1])


NUMBER = re.compile(r"[-+]?(?:[0-9]{1,15}(?:\.[0-9]{0,15})?|\.[0-9]{1,15})(?:[eE][-+]?[0-9]{1,2})?")
