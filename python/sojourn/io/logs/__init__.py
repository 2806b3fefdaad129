"""Logs of other tools; a format is a module here and an entry of `FORMATS`.

A format's module has `SUFFIX`, `ABOUT`, `recognises(line)`, `read(path, lines, nodes)` and `write(result, link)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sojourn.base.errors import InputError
from sojourn.base.files import write_file
from sojourn.base.inputs import read_text
from sojourn.base.late import pl
from sojourn.model.results.result import Result
from sojourn.model.results.tables import in_memory
from sojourn.model.results.words import FIRST_DROP

FORMATS = ("mahimahi", "ns2")


class Log(NamedTuple):
    """Contents of a log, with the columns of a result's tables that the format has."""

    packets: pl.DataFrame
    """Packets sent and dropped: `time_ns`, `link`, `bytes`, `sojourn_ns` (null if unknown), `fate`, …."""
    waiting: pl.DataFrame
    """Packets still queued at the end: `time_ns` of the arrival, `link`, `bytes`."""
    end_ns: int
    """Time of the last line."""


class Format(Protocol):
    """Interface of a format's module."""

    SUFFIX: str
    ABOUT: str

    def recognises(self, line: str) -> bool:
        """Whether `line` can be the first of a log of this format."""

    def read(self, path: Path, lines: Iterable[tuple[int, str]], nodes: tuple[int, int] | None) -> Log:
        """Read numbered, non-empty lines; if there are several links, the one between `nodes`."""

    def write(self, result: Result, link: str | None) -> Iterator[str]:
        """Yield lines about the packets of a link; the default depends on the format."""


def load_log(path: Path | str, nodes: tuple[int, int] | None = None) -> Result:
    """Read a log as a result without a scenario, for figures of its packets.

    Its tables are `packets`, `waiting` and `sojourn_histogram`. If the format has no reason of drops, their fate is
    "dropped: unknown". Raises `InputError` for an unknown or damaged log.
    """
    path = Path(path)
    lines = [(number, line) for number, line in enumerate(read_text(path, "log").splitlines(), 1) if line.strip()]
    if not lines:
        raise InputError(f"{path}: empty; give a log of {_names()}")
    known = next((found for found in map(log_format, FORMATS) if found.recognises(lines[0][1])), None)
    if known is None:
        raise InputError(f"{path}: line {lines[0][0]}: unrecognised log format; expected one of {_names()}")
    log = known.read(path, lines, nodes)
    sent = log.packets.filter(pl.col("fate") < FIRST_DROP)
    edges = pl.col("sojourn_ns")
    histogram = sent.group_by("link", lower_ns=edges, upper_ns=edges).agg(count=pl.len().cast(pl.UInt64))
    frames = {"packets": log.packets, "waiting": log.waiting, "sojourn_histogram": histogram.sort("link", "lower_ns")}
    totals = {"duration_s": log.end_ns / 1e9, "hops": []}
    result = Result(None, 0, totals, in_memory(frames))
    result.folder = path
    return result


def write_log(result: Result, path: Path | str, link: str | None = None) -> Path:
    """Write the packets of a result or of a log in the format of `path`'s suffix."""
    suffix = Path(path).suffix
    known = next((found for found in map(log_format, FORMATS) if suffix == found.SUFFIX), None)
    if known is None:
        endings = ", ".join(f"{log_format(name).SUFFIX} ({log_format(name).ABOUT})" for name in FORMATS)
        raise InputError(f'{path}: "{suffix}" is not a log format; end the name in {endings}')
    numbers = [result.link_number(link)] if link else [0, 1]
    if all(result.table(name).filter(pl.col("link").is_in(numbers)).is_empty() for name in ("packets", "waiting")):
        where = result.folder or result
        raise InputError(f"{where}: no packet reached the link; give a longer duration or another --link")
    lines = known.write(result, link)
    return write_file(path, lambda file: file.writelines(f"{line}\n".encode() for line in lines))


def log_format(name: str) -> Format:
    """Module of a format."""
    module: Format = import_module(f"sojourn.io.logs.{name}")
    return module


def link_keys(result: Result, number: int) -> dict[str, Any] | None:
    """Keys of a link in the scenario; None for a log and for links after the first bottleneck."""
    if result.is_log or number > 1:
        return None
    return list(result.scenario.links.values())[number]


def _names() -> str:
    return " or ".join(log_format(name).ABOUT for name in FORMATS)
