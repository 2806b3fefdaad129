"""ns-2's trace: `EVENT TIME FROM TO TYPE SIZE FLAGS FLOW SOURCE DESTINATION SEQ ID`, one line per event at a queue.

Events are + (enqueued), - (dequeued), r (received at the far end) and d (dropped); times are in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from sojourn.base.errors import InputError
from sojourn.base.units import bits_per_second, seconds
from sojourn.io.logs import Log, link_keys
from sojourn.io.traces.arrivals import non_replayable_key
from sojourn.model.results.result import Result
from sojourn.model.results.words import FATES, FIRST_DROP

SUFFIX = ".tr"
ABOUT = "ns-2"


def recognises(line: str) -> bool:
    """Whether a line is an event."""
    words = line.split()
    return len(words) >= 12 and words[0] in EVENTS


class _Event(NamedTuple):
    kind: str
    time_ns: int
    nodes: tuple[int, int]
    size: int
    flags: str
    flow: int
    number: int


def read(path: Path, lines: Iterable[tuple[int, str]], nodes: tuple[int, int] | None) -> Log:
    """Read a trace of one link; if there are several, that between `nodes`, with direction 0 from first to second."""
    events = [_event(path, number, line) for number, line in lines]
    first, second = nodes or _only_link(path, events)
    links = {(first, second): 0, (second, first): 1}
    on_link = [event for event in events if event.nodes in links]
    if not on_link:
        raise InputError(f"{path}: has no link {first}-{second}; expected one of {_listed(events)}")
    queued: dict[tuple[int, int], tuple[int, _Event]] = {}
    arrivals, rows = [0, 0], []
    for event in on_link:
        link = links[event.nodes]
        if event.kind == "+":
            queued[link, event.number] = arrivals[link], event
            arrivals[link] += 1
        elif event.kind in "-d":
            place, arrival = queued.pop((link, event.number), (None, None))
            sojourn = event.time_ns - arrival.time_ns if arrival else None
            if sojourn is not None and sojourn < 0:
                leaves, came_s = event.time_ns / 1e9, (event.time_ns - sojourn) / 1e9
                raise InputError(
                    f"{path}: packet {event.number} departs at {leaves:g} s, before its arrival ({came_s:g} s)"
                )
            if sojourn is None and event.kind == "-":
                raise InputError(f"{path}: packet {event.number} departs at {event.time_ns / 1e9:g} s without arrival")
            ecn = _ecn((arrival or event).flags)
            marked = _ecn(event.flags) == CE != ecn
            fate = "dropped: unknown" if event.kind == "d" else "marked" if marked else "sent"
            rows.append((event.time_ns, link, event.flow, event.size, sojourn, FATES.index(fate), place, ecn))
    left = [(e.time_ns, link, e.flow, e.size, place, _ecn(e.flags)) for (link, _), (place, e) in queued.items()]
    packets = pl.DataFrame(rows, schema=_COLUMNS, orient="row")
    waiting = pl.DataFrame(left, schema={k: v for k, v in _COLUMNS.items() if k not in _FATE_COLUMNS}, orient="row")
    return Log(packets, waiting.sort("link", "arrival"), max(event.time_ns for event in events))


def write(result: Result, link: str | None) -> Iterator[str]:
    """Yield lines about a link, or about the first two: forward from node 0 to node 1, reverse from 1 to 0.

    A packet's reception is computed, rounded up to a nanosecond, for links of constant rate and delay without loss;
    other links have none. Types and sequence numbers come from the probe `headers`; without it they are "pkt" and -1.
    """
    numbers = [result.link_number(link)] if link else [0, 1]
    frames = [_lines(result, number) for number in numbers]
    yield from pl.concat(frames).sort("at", "rank", "arrival", maintain_order=True)["line"]


def _lines(result: Result, number: int) -> pl.DataFrame:
    of_link = pl.col("link") == number
    packets = result.table("packets").filter(of_link)
    waiting = result.table("waiting").filter(of_link)
    both = _with_line_columns(
        result, pl.concat([packets, waiting.rename({"time_ns": "came_ns"})], how="diagonal"), number
    )
    arrivals = both.with_columns(
        came_ns=pl.coalesce("came_ns", pl.col("time_ns") - pl.col("sojourn_ns")), ce=pl.col("ecn") == CE
    )
    sent = both.filter(pl.col("fate") < FIRST_DROP).with_columns(
        ce=(pl.col("fate") == FATES.index("marked")) | (pl.col("ecn") == CE)
    )
    dropped = both.filter(pl.col("fate") >= FIRST_DROP).with_columns(ce=pl.col("ecn") == CE)
    parts = [
        _event_lines(arrivals.drop_nulls("came_ns"), "+", "came_ns", 0),
        _event_lines(dropped, "d", "time_ns", 1),
        _event_lines(sent, "-", "time_ns", 2),
    ]
    if (path := _constant_path(result, number)) is not None:
        rate, delay_ns = path
        received_ns = pl.col("time_ns") + (pl.col("bytes").cast(pl.UInt64) * 8 * 10**9 + rate - 1) // rate + delay_ns
        received = sent.with_columns(received_ns=received_ns).filter(
            pl.col("received_ns") <= round(result.duration_s * 1e9)
        )
        parts.append(_event_lines(received, "r", "received_ns", 3))
    return pl.concat(parts)


def _with_line_columns(result: Result, table: pl.DataFrame, number: int) -> pl.DataFrame:
    """Add the columns that every line needs; defaults are flow 0, hosts 0 and 1, Not-ECT, and order of appearance."""
    constants: dict[str, Any] = {"came_ns": None, "flow": 0, "ecn": 0, "from_host": 0, "to_host": 1}
    table = table.with_columns(
        pl.lit(value, pl.UInt64 if name == "came_ns" else pl.UInt32).alias(name)
        for name, value in constants.items()
        if name not in table.columns
    )
    if "arrival" not in table.columns:
        table = table.with_columns(arrival=pl.int_range(pl.len(), dtype=pl.UInt32))
    if "headers" in result.table_names:
        headers = result.table("headers").select("link", "arrival", "seq", "ack", "flags", "payload")
        table = table.join(headers, on=["link", "arrival"], how="left", maintain_order="left")
        pure = (pl.col("payload") == 0) & (pl.col("flags") == ACK)
        kind = pl.when(pl.col("flags") == 0).then(pl.lit("udp")).when(pure).then(pl.lit("ack")).otherwise(pl.lit("tcp"))
        return table.with_columns(kind=kind, seq=pl.when(pure).then("ack").otherwise("seq"))
    return table.with_columns(seq=pl.lit(-1), flags=pl.lit(0), kind=pl.lit("pkt"))


def _event_lines(table: pl.DataFrame, kind: str, time: str, rank: int) -> pl.DataFrame:
    at, link = pl.col(time), pl.col("link")
    fraction = (at % 10**9).cast(pl.String).str.zfill(9)
    echo, reduced = (pl.col("flags") & bit > 0 for bit in (ECE, CWR))
    flags = pl.concat_str(
        _flag(echo, "C"),
        pl.lit("--"),
        _flag(reduced, "A"),
        _flag(pl.col("ce"), "E"),
        pl.lit("-"),
        _flag(pl.col("ecn") > 0, "N"),
    )
    near, far = link % 2, 1 - link % 2
    ends = [pl.format("{}.{}", pl.col(name) + 2, "flow") for name in ("from_host", "to_host")]
    number = pl.col("arrival").cast(pl.UInt64) * 2 + link % 2
    line = pl.format(
        "{} {}.{} {} {} {} {} {} {} {} {} {} {}",
        pl.lit(kind), at // 10**9, fraction, near, far, "kind", "bytes", flags, "flow", *ends, "seq", number,
    )  # fmt: skip
    return table.select("arrival", at=at, rank=pl.lit(rank), line=line)


def _flag(condition: pl.Expr, letter: str) -> pl.Expr:
    return pl.when(condition).then(pl.lit(letter)).otherwise(pl.lit("-"))


def _constant_path(result: Result, number: int) -> tuple[int, int] | None:
    """Rate in bit/s and delay in ns of a link if both are constant; None otherwise."""
    link = link_keys(result, number)
    if link is None or not link.get("rate") or non_replayable_key(link) or link.get("loss") or "@" in link["delay"]:
        return None
    return round(bits_per_second(link["rate"])), round(seconds(link["delay"]) * 1e9)


def _event(path: Path, number: int, line: str) -> _Event:
    words = line.split()
    if len(words) < 12 or words[0] not in EVENTS:
        text = f'{path}: line {number}: "{line[:60]}" is not an event of ns-2; the file may be truncated there'
        raise InputError(text)
    kind, time, near, far, _, size, flags, flow = words[:8]
    try:
        at = float(time)
        values = (int(near), int(far)), int(size), flags, int(flow), int(words[11])
    except ValueError:
        raise InputError(f'{path}: line {number}: "{line[:60]}": not a number') from None
    if not (isfinite(at) and 0 <= at < 1e9 and 0 <= values[1] < 2**32 and 0 <= values[3] < 2**32):
        raise InputError(f'{path}: line {number}: "{line[:60]}": a number is out of range')
    return _Event(kind, round(at * 1e9), *values)


def _only_link(path: Path, events: list[_Event]) -> tuple[int, int]:
    pairs = {(min(event.nodes), max(event.nodes)) for event in events}
    if len(pairs) > 1:
        remedy = "choose one: sojourn log convert IN OUT.tr --nodes FROM-TO"
        raise InputError(f"{path}: holds the links {_listed(events)}; {remedy}")
    return next(iter(pairs))


def _listed(events: list[_Event]) -> str:
    return ", ".join(f"{near}-{far}" for near, far in sorted({event.nodes for event in events})[:20])


def _ecn(flags: str) -> int:
    """ECN field: CE, ECT(0) or Not-ECT."""
    return CE if flags[4:5] == "E" else 2 if flags[6:7] == "N" else 0


EVENTS = ("+", "-", "r", "d")
CE = 3
ACK, ECE, CWR = 4, 8, 16
_FATE_COLUMNS = ("sojourn_ns", "fate")
_COLUMNS = {
    "time_ns": pl.UInt64,
    "link": pl.UInt16,
    "flow": pl.UInt32,
    "bytes": pl.UInt32,
    "sojourn_ns": pl.UInt64,
    "fate": pl.UInt8,
    "arrival": pl.UInt32,
    "ecn": pl.UInt8,
}
