"""Recorded tables of a run as frames with units and words: a table is one line in `Result`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from sojourn.base.late import pl
from sojourn.model.results.words import ECN, FATES, OUTCOMES

if TYPE_CHECKING:
    from sojourn.model.results.result import Result

WORDS: Mapping[str, Sequence[str]] = {"fate": FATES, "ecn": ECN, "outcome": OUTCOMES}
"""Words for the numbers of a column, for tables without their own."""


class RecordedTable(property):
    """Property of a result: the recorded table of that name, in seconds, milliseconds and words.

    `probe` is the option that records it.
    """

    def __init__(self, meaning: str, probe: str, words: Mapping[str, Sequence[str]] = WORDS) -> None:
        super().__init__(lambda result: in_units(result, result.table(self.name), words), doc=meaning)
        self.probe = probe
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, result: None, owner: type | None = None) -> RecordedTable: ...
    @overload
    def __get__(self, result: Any, owner: type | None = None) -> pl.DataFrame: ...
    def __get__(self, result: Any, owner: type | None = None) -> Any:
        return super().__get__(result, owner)


def recorded_tables(owner: type) -> dict[str, RecordedTable]:
    """Recorded tables of a class by name."""
    return {name: member for name, member in vars(owner).items() if isinstance(member, RecordedTable)}


def in_units(result: Result, frame: pl.DataFrame, words: Mapping[str, Sequence[str]] = WORDS) -> pl.DataFrame:
    """Convert a table from nanoseconds and numbers to seconds, milliseconds and names."""
    columns = []
    for name in frame.columns:
        if name in UNITS:
            columns.append((pl.col(name) / UNITS[name][1]).alias(UNITS[name][0]))
        else:
            names = result.link_names if name == "link" else words.get(name)
            columns.append(with_names(name, names) if names else pl.col(name))
    return frame.select(columns)


def with_names(column: str, names: Sequence[str]) -> pl.Expr:
    """Replace the numbers of a column by names."""
    return pl.col(column).replace_strict(dict(enumerate(names)), return_dtype=pl.Enum(names))


UNITS = {
    "time_ns": ("time_s", 1e9),
    "start_ns": ("start_s", 1e9),
    "duration_ns": ("duration_s", 1e9),
    "sojourn_ns": ("sojourn_ms", 1e6),
    "airtime_ns": ("airtime_ms", 1e6),
    "timer_ns": ("timer_s", 1e9),
    "in_socket_ns": ("in_socket_ms", 1e6),
    "queueing_ns": ("queueing_ms", 1e6),
    "buffer_ns": ("buffer_s", 1e9),
    "stalled_ns": ("stalled_s", 1e9),
}
"""New name and divisor of each column in nanoseconds."""
