"""Registry of measured logs: a format is a module here and an entry of `FORMATS`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sojourn.base.errors import InputError
from sojourn.base.inputs import decoded, read_bytes
from sojourn.base.packed import decompress, head
from sojourn.io.flent.files import FlentData, is_flent, load_flent
from sojourn.io.measured import autorate, gnettrack, iperf3, irtt, ping
from sojourn.io.measured.measurement import Measurement

HEAD = 1 << 13
"""Bytes at the beginning of a file by which its format is known."""


class Format(NamedTuple):
    """Format of a log."""

    recognises: Callable[[str], bool]
    """Whether a text begins as such a log."""
    read: Callable[[str], Measurement]
    """Contents; raises `InputError`."""


FORMATS = {
    "iperf3 -J": Format(iperf3.recognises, iperf3.read),
    "irtt": Format(irtt.recognises, irtt.read),
    "ping": Format(ping.recognises, ping.read),
    "cake-autorate": Format(autorate.recognises, autorate.read),
    "G-NetTrack": Format(gnettrack.recognises, gnettrack.read),
}
"""Formats by the name of the program."""


def is_measured(path: Path | str) -> bool:
    """Whether a file is a data file of Flent, by its name, or a measured log, by its first bytes."""
    return is_flent(Path(path)) or _format(path) is not None


def load_measured(path: Path | str) -> tuple[FlentData, tuple[str, ...]]:
    """Read a data file of Flent or a measured log as data of Flent, with sentences about it; raises `InputError`."""
    path = Path(path)
    known = None if is_flent(path) else _format(path)
    if known is None:
        return load_flent(path), ()
    text = decoded(decompress(path, read_bytes(path, "log")), "replace")
    try:
        found = known.read(text)
        return found.as_flent(), found.notes
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); give the whole output of the program") from None


def _format(path: Path | str) -> Format | None:
    start = decoded(head(path, HEAD), "replace")
    return next((one for one in FORMATS.values() if one.recognises(start)), None)
