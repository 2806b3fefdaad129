"""Logs of cake-autorate: rates of both interfaces and shapers, and the RTT of each reflector.

Source: cake-autorate (`cake-autorate.sh`, headers of `print_headers`): fields between semicolons, named by a header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sojourn.base.errors import InputError
from sojourn.io.measured.measurement import Measurement, Series

MAX_REFLECTORS = 256


def recognises(head: str) -> bool:
    """Whether a text begins as a log of cake-autorate."""
    return ROW.search(head) is not None


@dataclass
class _Columns:
    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, time: float, value: float) -> None:
        """Add a value; a time that is not after the last one replaces its value."""
        if self.times and time <= self.times[-1]:
            self.values[-1] = value
        else:
            self.times.append(time)
            self.values.append(value)


def read(text: str) -> Measurement:
    """Read a log; raises `InputError`."""
    rows = list(_rows(text))
    kind = next((kind for kind in RATE_ROWS if any(row.kind == kind for row in rows)), None)
    if kind is None:
        raise InputError("no DATA or LOAD rows in it; log them with output_processing_stats=1 or output_load_stats=1")
    start = min(row.time for row in rows if row.kind in RATE_ROWS)
    rates: dict[str, _Columns] = {}
    pings: dict[str, _Columns] = {}
    end = 0.0
    for row in rows:
        if row.kind not in RATE_ROWS:
            continue
        end = max(end, row.time - start)
        if row.kind == kind:
            for column, name in RATES.items():
                if column in row.names:
                    rates.setdefault(name, _Columns()).add(row.time - start, row.number(column) / 1000)
        delays = next((one for one in DELAYS if row.names.keys() >= set(one)), None)
        if row.kind == "DATA" and delays and "REFLECTOR" in row.names:
            reflector = row.cells[row.names["REFLECTOR"]]
            # The offset of the reflector's clock is in both directions, with opposite signs.
            rtt = sum(row.number(column) for column in delays) / 1000
            pings.setdefault(f"Ping (ms) {reflector[:60]}", _Columns()).add(row.time - start, rtt)
            if len(pings) > MAX_REFLECTORS:
                raise InputError(f"line {row.line}: more than {MAX_REFLECTORS} reflectors; shorten the log")
    series = [Series(name, "Mbit/s", one.times, one.values, is_stepwise=True) for name, one in rates.items()]
    series += [Series(name, "ms", one.times, one.values) for name, one in pings.items()]
    left_out = sum(row.kind == BROKEN for row in rows)
    notes = (f"{left_out} incomplete rows are left out",) if left_out else ()
    return Measurement("cake-autorate", tuple(series), end, start, notes)


@dataclass(frozen=True)
class _Row:
    kind: str
    line: int
    time: float
    cells: Sequence[str]
    names: dict[str, int]

    def number(self, column: str) -> float:
        """Value of a column; raises `InputError`."""
        text = self.cells[self.names[column]]
        if not re.fullmatch(r"-?[0-9]{1,18}(?:\.[0-9]{1,9})?", text):
            raise InputError(f"line {self.line}: {column}: {text[:40]!r} is not a number; the log is damaged")
        return float(text)


def _rows(text: str) -> Iterator[_Row]:
    """Rows with rates or delays; of incomplete ones, such as the last of a full disk, the line alone."""
    headers: dict[str, dict[str, int]] = {}
    for line, whole in enumerate(text.split("\n"), 1):
        kind, semicolon, _ = whole.partition(";")
        if kind == OLD_HEADER and semicolon:
            headers["DATA"] = _places(whole)
        elif kind.endswith("_HEADER") and semicolon:
            headers[kind.removesuffix("_HEADER")] = _places(whole)
        elif kind in RATE_ROWS and semicolon:
            cells = [cell.strip() for cell in whole.split(";")]
            names = headers.get(kind, {})
            if len(cells) != len(names) or "PROC_TIME_US" not in names:
                yield _Row(BROKEN, line, 0.0, (), {})
                continue
            row = _Row(kind, line, 0.0, cells, names)
            time = row.number("PROC_TIME_US")
            yield _Row(kind, line, time / 1e6 if time > MAX_SECONDS else time, cells, names)


def _places(header: str) -> dict[str, int]:
    return {name.strip(): place for place, name in enumerate(header.split(";"))}


RATE_ROWS = ("DATA", "LOAD")
"""Rows with rates, the preferred first."""
BROKEN = ""
RATES = {
    "DL_ACHIEVED_RATE_KBPS": "Interface download",
    "UL_ACHIEVED_RATE_KBPS": "Interface upload",
    "CAKE_DL_RATE_KBPS": "Shaper download limit",
    "CAKE_UL_RATE_KBPS": "Shaper upload limit",
}
DELAYS = (("DL_OWD_US", "UL_OWD_US"), ("RTT_US",))
"""Columns whose sum is the RTT; the second are those of the first version."""
MAX_SECONDS = 1e12
"""Maximum of `PROC_TIME_US` in seconds, in which it is despite its name (`EPOCHREALTIME`); above it is microseconds."""
OLD_HEADER = "HEADER"
"""Header of the rows `DATA` in the first version."""
ROW = re.compile(r"^[A-Z_]{3,20}; (?:\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d|LOG_DATETIME); ", re.MULTILINE)
"""A row: kind and time, or the names of the columns."""
