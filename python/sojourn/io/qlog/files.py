"""A qlog file for each sender of a run over TCP or QUIC, written in one pass over the tables of the probe `senders`."""

from __future__ import annotations

import errno
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.base.files import check_writable, new_folder
from sojourn.io.qlog.events import ACK, SYN, Happened, Row, Trace, head
from sojourn.io.qlog.quic import QuicTrace
from sojourn.model.results.result import Result

TABLES = ("ack_ranges", "acks", "losses", "segments", "senders")
ROWS = 10_000
"""Rows of a table that are in memory at a time."""
KEPT = 1 << 22
"""Characters that are kept before they go to the files."""

Who = tuple[int, int]
"""A sender: its flow and its end, 0 at the source, 1 at the sink."""


def check(folder: Path) -> None:
    """Raise now what writing there would raise after the run."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "Not a folder", str(folder))
    check_writable(folder)


def write(
    result: Result, root: Path, *, name: str, progress: Callable[[float, int, int], None] | None = None
) -> list[Path]:
    """Write a file for each sender of a run into `root/name`, which appears as a whole, in place of one before.

    Memory is taken for a part of the tables and for what is in flight, however long the run is. Return the files in
    the order of the flows.
    """
    folder = root / name
    with new_folder(folder, replace=True) as part:
        traces = _write(result, part, progress)
        if not traces:
            what = "no TCP sender has sent anything; give it TCP flows, or a longer duration"
            raise InputError(f"{result.folder or result}: {what}")
    return [folder / _file(who) for who in sorted(traces)]


def _write(result: Result, folder: Path, progress: Callable[[float, int, int], None] | None) -> dict[Who, Trace]:
    about = f"{result.scenario.aqm}, seed {result.seed}, fingerprint {result.fingerprint}; sojourn {_core.version()}"
    traces: dict[Who, Trace] = {}
    waiting: dict[Who, list[str]] = defaultdict(list)
    size = 0
    end_ns = max(1.0, result.duration_s * 1e9)
    for who, happened, time_ns in _events(result):
        if who not in traces:
            traces[who] = trace = QuicTrace() if _is_quic(happened) else Trace()
            waiting[who].append(head(_title(who), about, _vantage_point(happened), trace.PROTOCOL))
        for text in traces[who].records(happened):
            waiting[who].append(text)
            size += len(text)
        if size > KEPT:
            _flush(waiting, folder)
            size = 0
            if progress:
                progress(time_ns / end_ns, 0, 1)
    _flush(waiting, folder)
    return traces


def _events(result: Result) -> Iterator[tuple[Who, Happened, int]]:
    """The events of all senders in their order."""
    parts = {name: _Rows(result.slices(name, ROWS)) for name in TABLES}
    while sum(part.fill() for part in parts.values()):  # of each of them
        # Of a table that goes on, later rows may belong to its last event.
        until = min((part.last for part in parts.values() if part.goes_on), default=None)
        found: dict[int, Happened] = defaultdict(Happened)
        for name, part in parts.items():
            for row in part.before(until):
                getattr(found[row["event"]], name).append(row)
        for _, happened in sorted(found.items()):
            first = next(row for name in TABLES for row in getattr(happened, name))
            yield (first["flow"], first["end"]), happened, first["time_ns"]


class _Rows:
    """The rows of a table, of which a part is in memory."""

    def __init__(self, slices: Iterator[pl.DataFrame]) -> None:
        self._slices = slices
        self._held: list[Row] = []
        self.goes_on = True

    def fill(self) -> bool:
        """Hold rows of at least two events if there are; tell whether there are any."""
        while self.goes_on and (not self._held or self._held[0]["event"] == self.last):
            following = next(self._slices, None)
            self.goes_on = following is not None
            if following is not None:
                self._held += following.to_dicts()
        return bool(self._held)

    @property
    def last(self) -> int:
        """The last event of which rows are held."""
        return int(self._held[-1]["event"])

    def before(self, event: int | None) -> list[Row]:
        """The rows held of events before this one, or all; they are held no longer."""
        if event is None:
            taken, self._held = self._held, []
            return taken
        at = next((place for place, row in enumerate(self._held) if row["event"] >= event), len(self._held))
        taken, self._held = self._held[:at], self._held[at:]
        return taken


def _flush(waiting: dict[Who, list[str]], folder: Path) -> None:
    """Append what waits to the files; no more than one is open."""
    for who, texts in waiting.items():
        with (folder / _file(who)).open("a", encoding="utf-8", newline="\n") as file:
            file.writelines(texts)
    waiting.clear()


def _is_quic(first: Happened) -> bool:
    """Every segment of TCP has one of the two flags."""
    return bool(first.segments) and not any(row["flags"] & (SYN | ACK) for row in first.segments)


def _vantage_point(first: Happened) -> str:
    """Who opens a connection is its client."""
    opens = _is_quic(first) or any(row["flags"] & SYN for row in first.segments)
    return "client" if opens else "server"


def _title(who: Who) -> str:
    flow, end = who
    return f"flow {flow}" + (", sender at the sink" if end else "")


def _file(who: Who) -> str:
    flow, end = who
    return f"flow-{flow}{'-sink' if end else ''}.sqlog"
