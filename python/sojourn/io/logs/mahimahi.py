"""Mahimahi's log of one direction of a link: a line per event, times in integer milliseconds.

`T # BYTES` is an opportunity, `T + BYTES` an arrival, `T - BYTES DELAY` a departure and `T d PACKETS BYTES` a drop;
lines that begin with # are the header.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from sojourn.base.errors import InputError
from sojourn.base.units import bits_per_second
from sojourn.io.logs import Log, link_keys
from sojourn.io.traces.delivery import load_trace
from sojourn.model.results.result import Result
from sojourn.model.results.words import FATES, FIRST_DROP

SUFFIX = ".log"
ABOUT = "Mahimahi"


def recognises(line: str) -> bool:
    """Whether a line is a header line or an event."""
    words = line.split()
    return words[0] == "#" or (words[0].isdigit() and len(words) > 2 and words[1] in _WORDS)


def read(path: Path, lines: Iterable[tuple[int, str]], nodes: tuple[int, int] | None) -> Log:
    """Read a log; all its packets are on link 0."""
    if nodes is not None:
        raise InputError(f"{path}: a log of Mahimahi has no nodes; leave the option out")
    base = end = 0
    arrivals: list[tuple[int, int]] = []
    rows: list[tuple[int, int, int | None, int]] = []
    for number, line in lines:
        words = line.split()
        if words[0] == "#":
            if words[1:3] == ["base", "timestamp:"] and len(words) == 4:
                base = _integer(path, number, words[3])
            continue
        kind, at, values = _event(path, number, line, words)
        time, end = at - base, max(end, at - base)
        if time < 0:
            raise InputError(f"{path}: line {number}: {at} ms is before the base timestamp {base}")
        if kind == "+":
            arrivals.append((time * MS, values[0]))
        elif kind == "-":
            if values[1] > time:
                raise InputError(f"{path}: line {number}: waited {values[1]} ms but left {time} ms after the start")
            rows.append((time * MS, values[0], values[1] * MS, FATES.index("sent")))
        elif kind == "d":
            count, size = values
            if count > MAX_DROPS:
                raise InputError(f"{path}: line {number}: {count} packets at once; the file is damaged")
            rows += [(time * MS, size // max(count, 1), None, FATES.index("dropped: unknown"))] * count
    packets = pl.DataFrame(rows, schema=_COLUMNS, orient="row").with_columns(link=pl.lit(0, pl.UInt16))
    return Log(packets, _waiting(packets, arrivals), end * MS)


def _event(path: Path, number: int, line: str, words: list[str]) -> tuple[str, int, list[int]]:
    """Kind, time and numbers of an event."""
    kind = words[1] if len(words) > 1 else ""
    if len(words) != _WORDS.get(kind):
        raise InputError(f'{path}: line {number}: "{line[:60]}" is not an event; the file may be truncated there')
    at, *values = (_integer(path, number, word) for word in (words[0], *words[2:]))
    if at > MAX_MS or any(value > MAX_NUMBER for value in values):
        raise InputError(f'{path}: line {number}: "{line[:60]}": a number is out of range; the file is damaged')
    return kind, at, values


def write(result: Result, link: str | None) -> Iterator[str]:
    """Yield lines about one link, by default the forward one.

    A departure is the start of a transmission, as everywhere in a result. Opportunities are written for links with a
    trace, and for links of constant rate once per MTU.
    """
    number = result.link_number(link or result.link)
    of_link = pl.col("link") == number
    packets = result.table("packets").filter(of_link)
    known = packets.filter(pl.col("sojourn_ns").is_not_null())
    waiting = result.table("waiting").filter(of_link)
    arrivals = pl.concat(
        [
            known.select(at=pl.col("time_ns") - pl.col("sojourn_ns"), bytes="bytes"),
            waiting.select(at="time_ns", bytes="bytes"),
        ]
    )
    ms = pl.col("at") // MS
    fates = packets.select(
        at="time_ns",
        bytes="bytes",
        fate="fate",
        delay=pl.col("time_ns") // MS - (pl.col("time_ns") - pl.col("sojourn_ns")) // MS,
    )
    sent, dropped = (fates.filter(pl.col("fate") < FIRST_DROP), fates.filter(pl.col("fate") >= FIRST_DROP))
    events = pl.concat(
        [
            arrivals.select("at", rank=0, line=pl.format("{} + {}", ms, "bytes")),
            dropped.select("at", rank=1, line=pl.format("{} d 1 {}", ms, "bytes")),
            opportunities(result, number).select("at", rank=2, line=pl.format("{} # {}", ms, "bytes")),
            sent.select("at", rank=3, line=pl.format("{} - {} {}", ms, "bytes", "delay")),
        ]
    )
    yield from _header(result, number)
    yield from events.sort("at", "rank", maintain_order=True)["line"]


def opportunities(result: Result, number: int) -> pl.DataFrame:
    """Times `at` in ns and sizes of a link's opportunities; empty if the scenario does not determine them."""
    link, end_ns = link_keys(result, number), round(result.duration_s * 1e9)
    times: list[int] = []
    mtu = int(link["mtu"].split()[0]) if link else 0
    if link and link.get("trace"):
        lap = [int(ms) for ms in load_trace(link["trace"])]
        laps = 1 if link.get("once") else end_ns // MS // lap[-1] + 1
        times = [at for start in range(laps) for ms in lap if (at := (start * lap[-1] + ms) * MS) <= end_ns]
    elif link and link.get("rate") and "@" not in link["rate"]:
        rate = round(bits_per_second(link["rate"]))
        times = [k * mtu * 8 * 10**9 // rate for k in range(1, end_ns * rate // (mtu * 8 * 10**9) + 1)]
    return pl.DataFrame({"at": times}, schema={"at": pl.UInt64}).with_columns(bytes=pl.lit(mtu, pl.UInt32))


def _header(result: Result, number: int) -> Iterator[str]:
    link = link_keys(result, number)
    aqm = "unknown" if link is None else result.scenario.aqm if number == 0 else link["aqm"]["name"]
    yield f"# mahimahi mm-link ({'Uplink' if number % 2 else 'Downlink'}) [{(link or {}).get('trace') or 'no trace'}]"
    yield "# command line: sojourn log convert"
    yield f"# queue: {aqm}"
    yield "# init timestamp: 0"
    yield "# base timestamp: 0"


def _waiting(packets: pl.DataFrame, arrivals: list[tuple[int, int]]) -> pl.DataFrame:
    """Packets still queued at the end: the last arrivals, as many as were neither sent nor dropped."""
    table = pl.DataFrame(arrivals, schema={"time_ns": pl.UInt64, "bytes": pl.UInt32}, orient="row")
    count = max(table.height - packets.height, 0)
    return table.tail(count).with_columns(link=pl.lit(0, pl.UInt16))


def _integer(path: Path, number: int, word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) <= MAX_DIGITS):
        raise InputError(f'{path}: line {number}: "{word[:30]}" is not a whole number')
    return int(word)


MS = 1_000_000
MAX_MS = 9 * 10**12
"""Maximum timestamp: in the year 2255, and below 2^63 ns."""
MAX_NUMBER = 2**32 - 1
MAX_DIGITS = 30
MAX_DROPS = 100_000
"""Maximum packets that one line drops; more means a damaged file."""
_WORDS = {"#": 3, "+": 3, "-": 4, "d": 4}
"""Number of words in a line by kind of event."""
_COLUMNS = {"time_ns": pl.UInt64, "bytes": pl.UInt32, "sojourn_ns": pl.UInt64, "fate": pl.UInt8}
