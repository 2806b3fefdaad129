"""Arrivals at a queue for replay through other queues: random, from a kernel vector, or from a run's packets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.base.inputs import parse_json, read_bytes, read_text
from sojourn.base.packed import decompress
from sojourn.base.units import limit_text, seconds

if TYPE_CHECKING:
    import numpy.typing as npt

    from sojourn.model.results.result import Result

Columns = dict[str, "npt.NDArray[Any]"]


@dataclass(frozen=True)
class Arrivals:
    """Arrivals at a link and, if recorded, their fates."""

    source: str
    """Origin of the arrivals, as part of a sentence."""
    columns: Columns
    setup: dict[str, Any]
    """Link, limit and conventions for `_core.diff`."""
    recorded: Columns | None = None
    line: str | None = None
    """tc configuration of the recorded queue."""
    recorded_aqm: str = ""
    created_ns: int | None = None
    """Kernel time when the recorded queue was created."""
    flows: npt.NDArray[Any] | None = None
    """Original flows, if the column `flow` has the kernel's hash buckets instead."""
    buckets_unknown: bool = False
    """Whether the kernel hashed flows to buckets that were not recorded."""

    def with_limit(self, limit: str) -> Arrivals:
        """Copy with another limit of the queue."""
        return replace(self, setup={**self.setup, "limit": limit})

    def with_shared_bucket(self, flow: int, other: int) -> Arrivals:
        """Copy with the packets of flow `other` in the bucket of `flow`."""
        column = self.columns["flow"]
        merged = np.where(column == other, np.uint32(flow), column)
        return replace(
            self, columns={**self.columns, "flow": merged}, flows=column if self.flows is None else self.flows
        )

    def with_seed(self, seed: int) -> Arrivals:
        """Copy with another seed of the queue."""
        return replace(self, setup={**self.setup, "seed": seed})


def random_arrivals(rate: str, limit: str, packets: int, seed: int) -> Arrivals:
    """Poisson arrivals of eight flows with a load that varies between 0.4 and 1.6 of `rate`."""
    columns = _core.made_up_arrivals(seed, packets, rate)
    setup = replay_setup(rate=rate, limit=limit, seed=seed)
    return Arrivals(f"{packets} synthetic arrivals (seed {seed})", columns, setup)


def from_result(result: Result, changes: Sequence[Mapping[str, Any]] = ()) -> Arrivals:
    """Arrivals and fates at `link` of a run with the probe `packets`; a replay makes the `changes` of the link.

    Raises `InputError` for links that a replay cannot reproduce.
    """
    document, where = result.scenario.document, result.folder or result
    link, number = result.setup, result.link_number(result.link)
    first = (link.get("rate") or "").partition("@")[0]
    if (key := non_replayable_key({**link, "rate": first})) is not None:
        raise InputError(f"{where}: its link has {key}; only runs over a link with a rate can be replayed")
    sent, waiting = (result.table(name).filter(pl.col("link") == number) for name in ("packets", "waiting"))
    sent = sent.with_columns(fate_ns="time_ns", time_ns=pl.col("time_ns") - pl.col("sojourn_ns"))
    end_ns = pl.lit(round(1e9 * seconds(document["duration"])), pl.UInt64)
    waiting = waiting.with_columns(fate=pl.lit(WAITING, pl.UInt8), fate_ns=end_ns)
    table = pl.concat([sent.select(_LOG_COLUMNS), waiting.select(_LOG_COLUMNS)]).sort("arrival")
    if table.is_empty():
        raise InputError(f"{where}: no packet reached the link; give a longer duration")
    limit = limit_text(link["limit"])
    mtu = sum(int(link[key].split()[0]) for key in ("mtu", "overhead"))
    setup = replay_setup(rate=first, limit=limit, seed=result.seed, mtu=mtu, link=number)
    if changes or first != link["rate"]:
        setup["changing"] = json.dumps({"link": link, "changes": list(changes)})
    columns = {name: table[name].to_numpy() for name in _LOG_COLUMNS}
    columns["dscp"] = np.zeros(table.height, np.uint8)
    recorded = {name: columns.pop(name) for name in ("fate", "fate_ns")}
    recorded["fate"] = np.where(recorded["fate"] == _REPLACED, np.uint8(REPLACED), recorded["fate"])
    aqm, direction = result.scenario.aqm, ""
    if result.is_shell or result.link != result.link_names[0]:
        aqm, direction = str(result.summary["aqm"][0]), f" {result.link}"
    times = len({change["at"] for change in changes} | set((link["rate"] or "").split(",")[1:]))
    changed = f", changed {times} times" if times > 1 else ", changed once" if times else ""
    source = f"{table.height} arrivals recorded from {aqm}{direction}{changed}, seed {result.seed}"
    return Arrivals(source, columns, setup, recorded, recorded_aqm=aqm)


def non_replayable_key(link: Mapping[str, Any]) -> str | None:
    """Key in which a link differs from a replay's link, which has a constant rate and plain framing; None if none."""
    if "@" in (link.get("rate") or "") or link.get("change") == "opportunity":
        return "change"
    return next(
        (key for key, value in sorted(link.items()) if key not in _IGNORED_KEYS and value != _REPLAY_VALUES.get(key)),
        None,
    )


def from_vector(path: Path | str) -> Arrivals:
    """Arrivals at a qdisc of the Linux kernel and their fates, from a test vector.

    `path` is `NAME.jsonl.gz`, `NAME.jsonl`, or NAME; `NAME.meta.json` must be in the same folder.
    """
    data, meta_path = _vector_files(Path(path))
    meta = _read_meta(meta_path)
    lines = _read_lines(data)
    rows = [_read_row(f"{data}: line {number}", line) for number, line in enumerate(lines, 1)]
    if not rows:
        raise InputError(f"{data}: contains no packet")
    delay = _enqueue_delay(rows[0])
    origin = meta["t0_mono_ns"]
    table = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in _NUMBERS}
    optional = {
        name: np.array([row.get(name, default) for row in rows], dtype=kind)
        for name, (kind, default) in _OPTIONAL_COLUMNS.items()
    }
    columns: Columns = {
        "time_ns": (table["arrival_ns"] + origin + delay).astype(np.uint64),
        "bytes": table["size"].astype(np.uint32),
        "flow": table["flow"].astype(np.uint32),
        "ecn": table["ecn"].astype(np.uint8),
        **optional,
    }
    departures = np.where(table["departure_ns"] < 0, 0, table["departure_ns"] + origin)
    recorded: Columns = {
        "fate": np.array([_VERDICTS[row["verdict"]] for row in rows], dtype=np.uint8),
        "fate_ns": departures.astype(np.uint64),
    }
    setup = replay_setup(
        rate=rate_text(meta["rate_bps"]),
        seed=meta["seed"],
        overhead=meta["overhead"],
        mtu=ETHERNET_MTU,
        kernel=True,
        origin_ns=origin,
    )
    qdisc = meta["qdisc"]
    hashes = qdisc.split()[:1] in (["fq_codel"], ["fq_pie"], ["sfq"])
    flows, buckets = columns["flow"], _buckets(data, rows)
    if hashes and buckets is not None:
        columns["flow"] = buckets
    return Arrivals(
        f"{len(rows)} arrivals of {data.name.split('.jsonl')[0]}",
        columns,
        setup,
        recorded,
        qdisc,
        f"recorded: {qdisc}",
        meta["created"],
        flows,
        buckets_unknown=hashes and buckets is None,
    )


def _buckets(data: Path, rows: list[Mapping[str, Any]]) -> npt.NDArray[Any] | None:
    """Kernel hash bucket of each packet; None if not recorded."""
    has_bucket = ["bucket" in row for row in rows]
    if not any(has_bucket):
        return None
    if not all(has_bucket):
        raise InputError(f'{data}: line {has_bucket.index(False) + 1} lacks "bucket", which others have')
    return np.array([row["bucket"] for row in rows], dtype=np.uint32)


def replay_setup(**settings: object) -> dict[str, Any]:
    """Settings of a replay for `_core.diff`; those that are not given have their defaults."""
    defaults = {"overhead": 0, "mtu": 1500, "limit": "unlimited", "link": 0, "kernel": False, "origin_ns": 0}
    return {**defaults, "told": NOTIFY_ALL_DROPS, "drops_on_arrival": False, **settings}


def rate_text(bps: int) -> str:
    """A rate in the largest unit that gives a whole number."""
    units = (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3))
    return next((f"{bps // size} {unit}" for unit, size in units if bps % size == 0), f"{bps} bit/s")


def _vector_files(path: Path) -> tuple[Path, Path]:
    base = path.name
    for suffix in (".jsonl.gz", ".jsonl", ".meta.json"):
        base = base.removesuffix(suffix)
    choices = [path.with_name(base + suffix) for suffix in (".jsonl.gz", ".jsonl")]
    meta = path.with_name(base + ".meta.json")
    for data in choices:
        if data.is_file():
            if not meta.is_file():
                raise InputError(f"{data}: {meta.name} is missing beside it")
            return data, meta
    raise InputError(f"{path}: no such vector; give NAME.jsonl.gz, with NAME.meta.json beside it")


def _read_lines(path: Path) -> list[str]:
    try:
        raw = read_bytes(path)
        if path.suffix == ".gz" and raw[:2] != b"\x1f\x8b":
            raise InputError(f"{path}: not a complete gzip file; fetch it again")
        return decompress(path, raw).decode().splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file (byte {error.start} is not UTF-8)") from None


def _read_meta(path: Path) -> dict[str, Any]:
    text = read_text(path, "JSON")
    try:
        meta = parse_json(text)
    except ValueError:
        raise InputError(f"{path}: not valid JSON") from None
    for key, kind, low in _META_KEYS:
        if not isinstance(meta, dict) or key not in meta:
            raise InputError(f'{path}: "{key}" is missing')
        if type(meta[key]) is not kind or (kind is int and not low <= meta[key] < 2**63):
            raise InputError(f'{path}: "{key}" is {meta[key]!r}; expected a {_WORDS[kind]}')
    overhead = meta.get("overhead", 0)
    if type(overhead) is not int or not 0 <= overhead <= 65_535:
        raise InputError(f'{path}: "overhead" is {overhead!r}; expected a number of bytes from 0 to 65535')
    if (ties := meta.get("ties", "arrival-first")) != "arrival-first":
        raise InputError(f'{path}: "ties" is {ties!r}; only "arrival-first" is supported')
    return {**meta, "overhead": overhead, "created": _created(path, meta.get("created"))}


def _created(path: Path, text: object) -> int | None:
    """Nanoseconds of "mono N …"; None if not recorded."""
    if text is None:
        return None
    words = str(text).split()
    if len(words) < 2 or words[0] != "mono" or not words[1].isdigit():
        raise InputError(f'{path}: "created" is {text!r}; expected e.g. "mono 91000333332"')
    return int(words[1])


def _read_row(place: str, line: str) -> Mapping[str, Any]:
    try:
        row = parse_json(line)
    except ValueError:
        raise InputError(f"{place} is not valid JSON; the file may be truncated") from None
    if not isinstance(row, dict):
        raise InputError(f'{place} is not an object such as {{"arrival_ns": 0, …}}')
    for key in (*_NUMBERS, "verdict"):
        if key not in row:
            raise InputError(f'{place} lacks "{key}"')
    for key, (low, high) in (_NUMBERS | _OPTIONAL).items():
        if key in row and (type(row[key]) is not int or not low <= row[key] <= high):
            raise InputError(f'{place}: "{key}" is {row[key]!r}; expected a whole number from {low} to {high}')
    if not isinstance(row["verdict"], str) or row["verdict"] not in _VERDICTS:
        raise InputError(f'{place}: "verdict" is {row["verdict"]!r}; expected one of {", ".join(_VERDICTS)}')
    if (row["verdict"] in ("pass", "mark")) != (row["departure_ns"] >= 0):
        raise InputError(f'{place}: a departure of {row["departure_ns"]} ns does not match "{row["verdict"]}"')
    return row


def _enqueue_delay(first: Mapping[str, Any]) -> int:
    """Delay between recorded and actual enqueue time, from the first packet, which an idle link dequeues at once."""
    return max(0, int(first["departure_ns"]) - int(first["arrival_ns"])) if first["departure_ns"] >= 0 else 0


ETHERNET_MTU = 1514
"""Maximum packet of a vector: 1500 bytes of IP and 14 of Ethernet."""
WAITING, REPLACED = 8, 11
"""Codes of recorded fates that tables have in another way."""
_REPLACED = 6
NOTIFY_ALL_DROPS = (True, True, True)
"""Notify senders of all drops on arrival: early, on overflow, and of a packet that was enqueued first."""
_VERDICTS = {"pass": 0, "mark": 1, "drop_on_arrival": 6, "drop": 7}
_TIME = (0, 2**62)
_NUMBERS = {
    "arrival_ns": _TIME,
    "size": (1, 1_000_000_000),
    "flow": (0, 2**32 - 1),
    "ecn": (0, 3),
    "departure_ns": (-1, 2**62),
}
_OPTIONAL = {
    "bucket": (0, 2**32 - 1),
    "dscp": (0, 63),
    "from_host": (0, 2**32 - 1),
    "to_host": (0, 2**32 - 1),
}
_OPTIONAL_COLUMNS = {"dscp": (np.uint8, 0), "from_host": (np.uint32, 1), "to_host": (np.uint32, 2)}
"""Optional fields of a row, with the column's type and the default."""
_META_KEYS = (("qdisc", str, 0), ("rate_bps", int, 1), ("t0_mono_ns", int, 0), ("seed", int, 0))
_WORDS = {str: "text", int: "non-negative whole number"}
_AFTER_QUEUE = {"delay", "reorder", "tick", "loss"}
_REPLAY_VALUES = {"framing": "ethernet", "account": "adjusted", "mpu": "0 B"}
_IGNORED_KEYS = {"gro", "change", "rate", "overhead", "mtu", "aqm", "limit"} | _AFTER_QUEUE
_LOG_COLUMNS = ["arrival", "time_ns", "bytes", "flow", "ecn", "from_host", "to_host", "fate", "fate_ns"]
