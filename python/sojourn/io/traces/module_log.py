"""Logs of the kernel module `sojourn`: calls and verdicts of a queue, as `qdisc/log.h` of sojourn-kernel has them.

A log begins with the text of the queue's creation, and has one record per call and per drop; the records of a call have
its time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.base.errors import InputError
from sojourn.base.inputs import read_bytes
from sojourn.io.traces.arrivals import WAITING, Arrivals, rate_text, replay_setup

if TYPE_CHECKING:
    import numpy.typing as npt

    Records = npt.NDArray[np.void]

TEXT, CREATED, ARRIVAL, DROP, DEPARTURE, NO_PACKET, SETTLED, CHANGE, REFUSED, RESET, FAILED, LOST = range(1, 13)
"""Kinds of records."""
RECORD = np.dtype(
    [
        *[("now", "u8"), ("number", "u4"), ("kind", "u1"), ("code", "u1"), ("segments", "u2")],
        *[("bytes", "u4"), ("flow", "u4"), ("class", "u4"), ("hosts", "u4", 2), ("tos", "u4")],
    ]
)
"""A record; one of text has 24 characters from `bytes` on."""
PAYLOAD = 16
"""Bytes of a record before its text."""
MAX_TEXT = 1 << 16
MAX_ARRIVALS = 10_000_000
ENDS = {CHANGE: "a change", RESET: "a reset", FAILED: "a failure", LOST: "lost records", CREATED: "another creation"}
"""Records after which the queue has another state than its replay."""
CREATION = re.compile(r"rate (\d+) delay (\d+) seed (\d+) mtu (\d+) limit (\S+) (.+)")


def from_module_log(path: Path) -> tuple[Arrivals, str]:
    """Arrivals, calls and fates in the part of a log with most packets, and the queue's line.

    A part begins with a creation of the queue and ends before one of `ENDS`. Raises `InputError` for a damaged log,
    and for one without a packet.
    """
    found = list(_parts(_records(path)))
    if not found:
        raise InputError(f"{path}: the log has no creation; read it from its start, or replace the qdisc")
    number, part = max(enumerate(found, 1), key=lambda entry: np.count_nonzero(entry[1].records["kind"] == ARRIVAL))
    try:
        return _arrivals(part, path.name, f", part {number} of {len(found)}" if len(found) > 1 else "")
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


@dataclass(frozen=True)
class _Part:
    text: str
    created_ns: int
    first: int
    """Number of the first arrival."""
    records: Records
    end: int | None
    """Kind of the record that ended it; None at the end of the log."""


def _format(start: bytes) -> np.dtype[np.void] | None:
    """Records in the byte order that makes the first one a text; None if neither does."""
    orders: list[np.dtype[np.void]] = [RECORD.newbyteorder("<"), RECORD.newbyteorder(">")]
    for order in orders:
        record = np.frombuffer(start, order, 1)[0]
        if record["kind"] == TEXT and record["now"] == 0 and 0 < record["number"] <= MAX_TEXT:
            return order
    return None


def _records(path: Path) -> Records:
    """Whole records of a log."""
    data = read_bytes(path, "log")
    record = _format(data[: RECORD.itemsize]) if len(data) >= RECORD.itemsize else None
    if record is None:
        raise InputError(f"{path}: not the log of a queue; read /sys/kernel/debug/sojourn/DEVICE-N from its start")
    return np.frombuffer(data, record, len(data) // RECORD.itemsize)


def _parts(records: Records) -> Iterator[_Part]:
    """The parts of a log, each with its records between a creation and the next end."""
    kinds = records["kind"]
    # A refused change leaves the queue as it was.
    is_refused = (kinds == CHANGE) & (np.append(kinds[1:], 0) == REFUSED)
    borders = np.flatnonzero(np.isin(kinds, [*ENDS]) & ~is_refused)
    for start, end in zip_longest(borders, borders[1:]):
        if kinds[start] != CREATED:
            continue
        stop = len(records) if end is None else int(end)
        yield _Part(
            text=_text_before(records, int(start)),
            created_ns=int(records["now"][start]),
            first=int(records["number"][start]),
            records=records[start + 1 : stop],
            end=None if end is None else int(kinds[stop]),
        )


def _text_before(records: Records, stop: int) -> str:
    """Text in the records just before `stop`."""
    start = stop
    while start and records["kind"][start - 1] == TEXT:
        start -= 1
    pieces = (record.tobytes()[PAYLOAD : PAYLOAD + int(record["number"])] for record in records[start:stop])
    return b"".join(pieces).decode("ascii", "replace")


def _arrivals(part: _Part, name: str, place: str) -> tuple[Arrivals, str]:
    found = CREATION.fullmatch(part.text)
    if found is None:
        raise InputError(f"the creation {part.text!r} has another form; use the Sojourn that built the module")
    rate, delay, seed, mtu = map(int, found.groups()[:4])
    records, kinds = part.records, part.records["kind"]
    calls = records[np.isin(kinds, [ARRIVAL, DEPARTURE, NO_PACKET, SETTLED])]
    if part.end not in (CHANGE, RESET) and len(calls):
        # The records of the last call may be incomplete.
        records, calls = (some[some["now"] < calls["now"][-1]] for some in (records, calls))
    packets = records[records["kind"] == ARRIVAL]
    if not len(packets):
        raise InputError("no packet arrived; read the log while there is traffic")
    if len(packets) > MAX_ARRIVALS:
        raise InputError(f"{len(packets)} packets are too many; read at most {MAX_ARRIVALS}")
    numbers = packets["number"] - np.uint32(part.first)
    is_in_order = np.array_equal(numbers, np.arange(len(packets), dtype=np.uint32))
    if not is_in_order or np.any(calls["now"][1:] < calls["now"][:-1]) or calls["now"][0] < part.created_ns:
        raise InputError("its arrivals are not in order; read it with one reader, from its start")
    columns = {
        "time_ns": packets["now"],
        "bytes": packets["bytes"],
        "flow": packets["flow"],
        "ecn": (packets["tos"] & 3).astype(np.uint8),
        "from_host": packets["hosts"][:, 0],
        "to_host": packets["hosts"][:, 1],
        "dscp": (packets["tos"] >> 2 & 63).astype(np.uint8),
        "class_id": packets["class"],
        "segments": packets["segments"],
        "call_ns": calls["now"],
        "call_kind": np.select([calls["kind"] == ARRIVAL, calls["kind"] == SETTLED], [0, 2], 1).astype(np.uint8),
    }
    columns = {key: np.ascontiguousarray(column, column.dtype.newbyteorder("=")) for key, column in columns.items()}
    setup = replay_setup(
        rate=rate_text(max(rate, 1)),
        limit=found[5],
        seed=seed,
        mtu=mtu,
        kernel=True,
        origin_ns=part.created_ns,
        delay_ns=delay,
        created_ns=part.created_ns,
    )
    end = "" if part.end is None else f", up to {ENDS[part.end]}"
    source = f"{len(packets)} arrivals of {name}{place}{end}"
    fates = _fates(records, columns["ecn"], part.first)
    return Arrivals(source, columns, setup, fates, recorded_aqm=f"recorded: {found[6]}"), found[6]


def _fates(records: Records, ecn: npt.NDArray[Any], first: int) -> dict[str, npt.NDArray[Any]]:
    """Verdict of each packet and its time."""
    fate = np.full(len(ecn), WAITING, np.uint8)
    fate_ns = np.full(len(ecn), records["now"][-1], np.uint64)
    for kind in (DROP, DEPARTURE):
        some = records[records["kind"] == kind]
        numbers = some["number"] - np.uint32(first)
        if np.any(numbers >= len(ecn)):
            raise InputError("a packet leaves that has not arrived; read the log from its start")
        marked = (some["code"] == CE) & (ecn[numbers] != CE)
        fate[numbers] = marked if kind == DEPARTURE else REASONS[np.minimum(some["code"], len(REASONS) - 1)]
        fate_ns[numbers] = some["now"]
    return {"fate": fate, "fate_ns": fate_ns}


CE = 3
REASONS = np.array([2, 3, 4, 5, 11, 9], np.uint8)
"""Code of a recorded fate by the reason of a drop; the last one for reasons that are unknown."""
