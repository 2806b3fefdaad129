"""qlog files, one per TCP or QUIC sender, written in one pass over the tables of the probe `senders`."""

from __future__ import annotations

import errno
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.base.files import check_writable, new_folder
from sojourn.io.qlog.events import ACK, SYN, Row, SenderEvent, Trace, head
from sojourn.io.qlog.quic import QuicTrace
from sojourn.model.results.result import Result

TABLES = ("ack_ranges", "acks", "losses", "segments", "senders")
ROWS = 10_000
"""Rows of a table in memory at a time."""
BUFFER_CHARS = 1 << 22
"""Characters that are buffered before a flush."""

Sender = tuple[int, int]
"""A sender: its flow and its end (0 source, 1 sink)."""


def check(folder: Path) -> None:
    """Raise `OSError` if `folder` cannot be written to; call it before the run."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "Not a folder", str(folder))
    check_writable(folder)


def write(
    result: Result, root: Path, *, name: str, progress: Callable[[float, int, int], None] | None = None
) -> list[Path]:
    """Write a file per sender of a run into `root/name`, which replaces an existing folder atomically.

    Memory is bounded by a part of the tables and the data in flight. Returns the files in order of the flows. Raises
    `InputError` if no sender has sent anything.
    """
    folder = root / name
    with new_folder(folder, replace=True) as part:
        traces = _write(result, part, progress)
        if not traces:
            reason = "no TCP sender has sent anything; give it TCP flows, or a longer duration"
            raise InputError(f"{result.folder or result}: {reason}")
    return [folder / _file(sender) for sender in sorted(traces)]


def _write(result: Result, folder: Path, progress: Callable[[float, int, int], None] | None) -> dict[Sender, Trace]:
    description = (
        f"{result.scenario.aqm}, seed {result.seed}, fingerprint {result.fingerprint}; sojourn {_core.version()}"
    )
    traces: dict[Sender, Trace] = {}
    buffers: dict[Sender, list[str]] = defaultdict(list)
    size = 0
    end_ns = max(1.0, result.duration_s * 1e9)
    for sender, event, time_ns in _events(result):
        if sender not in traces:
            traces[sender] = trace = QuicTrace() if _is_quic(event) else Trace()
            buffers[sender].append(head(_title(sender), description, _vantage_point(event), trace.PROTOCOL))
        for text in traces[sender].records(event):
            buffers[sender].append(text)
            size += len(text)
        if size > BUFFER_CHARS:
            _flush(buffers, folder)
            size = 0
            if progress:
                progress(time_ns / end_ns, 0, 1)
    _flush(buffers, folder)
    return traces


def _events(result: Result) -> Iterator[tuple[Sender, SenderEvent, int]]:
    """Yield the events of all senders in order."""
    tables = {name: _Rows(result.slices(name, ROWS)) for name in TABLES}
    while sum(table.fill() for table in tables.values()):  # sum, unlike any, fills every table
        # The last event in memory of an unfinished table may have further rows.
        until = min((table.last for table in tables.values() if table.has_more), default=None)
        events: dict[int, SenderEvent] = defaultdict(SenderEvent)
        for name, table in tables.items():
            for row in table.before(until):
                getattr(events[row["event"]], name).append(row)
        for _, event in sorted(events.items()):
            first = next(row for name in TABLES for row in getattr(event, name))
            yield (first["flow"], first["end"]), event, first["time_ns"]


class _Rows:
    """Rows of a table, read in slices."""

    def __init__(self, slices: Iterator[pl.DataFrame]) -> None:
        self._slices = slices
        self._rows: list[Row] = []
        self.has_more = True

    def fill(self) -> bool:
        """Read until rows of at least two events are in memory; returns whether there are any rows."""
        while self.has_more and (not self._rows or self._rows[0]["event"] == self.last):
            following = next(self._slices, None)
            self.has_more = following is not None
            if following is not None:
                self._rows += following.to_dicts()
        return bool(self._rows)

    @property
    def last(self) -> int:
        """Last event in memory."""
        return int(self._rows[-1]["event"])

    def before(self, event: int | None) -> list[Row]:
        """Take the rows in memory of events before this one, or all."""
        if event is None:
            taken, self._rows = self._rows, []
            return taken
        at = next((place for place, row in enumerate(self._rows) if row["event"] >= event), len(self._rows))
        taken, self._rows = self._rows[:at], self._rows[at:]
        return taken


def _flush(buffers: dict[Sender, list[str]], folder: Path) -> None:
    """Append the buffered records to the files, one open file at a time."""
    for sender, texts in buffers.items():
        with (folder / _file(sender)).open("a", encoding="utf-8", newline="\n") as file:
            file.writelines(texts)
    buffers.clear()


def _is_quic(first: SenderEvent) -> bool:
    """Whether the sender is QUIC: every TCP segment has SYN or ACK."""
    return bool(first.segments) and not any(row["flags"] & (SYN | ACK) for row in first.segments)


def _vantage_point(first: SenderEvent) -> str:
    """`client` if the sender opens the connection, otherwise `server`."""
    opens = _is_quic(first) or any(row["flags"] & SYN for row in first.segments)
    return "client" if opens else "server"


def _title(sender: Sender) -> str:
    flow, end = sender
    return f"flow {flow}" + (", sender at the sink" if end else "")


def _file(sender: Sender) -> str:
    flow, end = sender
    return f"flow-{flow}{'-sink' if end else ''}.sqlog"
