"""Logs of G-NetTrack, and the data sets of mobile networks made with it: rates of the phone's interface.

Source: the columns of its CSV files: `Timestamp`, `DL_bitrate` and `UL_bitrate` in kbit/s, `PINGAVG` in ms; `-` is a
missing value. Times have whole seconds.
"""

from __future__ import annotations

import csv
import re
from datetime import datetime, timezone

from sojourn.base.errors import InputError
from sojourn.io.measured.measurement import Measurement, Series


def recognises(head: str) -> bool:
    """Whether a text begins as a log of G-NetTrack."""
    first = head.partition("\n")[0]
    return "Timestamp" in first and ("DL_bitrate" in first or "UL_bitrate" in first)


def read(text: str) -> Measurement:
    """Read a log; raises `InputError`."""
    separator = "\t" if "\t" in text.partition("\n")[0] else ","
    rows = csv.reader(text.split("\n"), delimiter=separator)
    names = {name.strip(): place for place, name in enumerate(next(rows))}
    found: dict[str, dict[float, float]] = {name: {} for name, _ in COLUMNS.values()}
    start = 0.0
    last = -1.0
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            stamp = _seconds(_cell(row, names, "Timestamp"), rows.line_num)
            start = start or stamp
            if stamp - start < last:
                raise InputError(f"line {rows.line_num}: its time is before that of the row above; sort the rows")
            last = stamp - start
            for column, (name, scale) in COLUMNS.items():
                value = _cell(row, names, column)
                if value and value != "-":
                    # Of the rows of a second the last one counts.
                    found[name][last] = _number(value, column, rows.line_num) * scale
    except csv.Error as error:
        raise InputError(f"line {rows.line_num}: {error}; fix the quotes of the row") from None
    series = [
        Series(name, "ms" if name.startswith("Ping") else "Mbit/s", list(values), list(values.values()), name[0] == "I")
        for name, values in found.items()
        if values
    ]
    return Measurement("G-NetTrack", tuple(series), max(last, 0.0), start)


def _cell(row: list[str], names: dict[str, int], column: str) -> str:
    """Text of a cell; empty if the column or the cell is missing."""
    return row[names[column]].strip() if names.get(column, len(row)) < len(row) else ""


def _seconds(text: str, line: int) -> float:
    """Seconds since 1970 of `2026.01.31_12.00.00`, which has no time zone; raises `InputError`."""
    date = re.sub(r"[-:T. ]", "_", text)
    try:
        return datetime.strptime(date, "%Y_%m_%d_%H_%M_%S").replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        raise InputError(f"line {line}: Timestamp: {text[:40]!r} is no time; write e.g. 2026.01.31_12.00.00") from None


def _number(text: str, column: str, line: int) -> float:
    if not re.fullmatch(r"[0-9]{1,12}(?:\.[0-9]{1,9})?", text):
        raise InputError(f"line {line}: {column}: {text[:40]!r} is not a number; the log is damaged")
    return float(text)


COLUMNS = {
    "DL_bitrate": ("Interface download", 1e-3),
    "UL_bitrate": ("Interface upload", 1e-3),
    "PINGAVG": ("Ping (ms) ICMP", 1.0),
}
"""Series and scale by column."""
