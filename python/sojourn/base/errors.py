"""Errors, their exit codes, and messages that name the place and the remedy."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from sojourn._core import AqmError, InputError

__all__ = [
    "INPUT",
    "INTERRUPTED",
    "MACHINE",
    "AqmError",
    "InputError",
    "MissingError",
    "OutOfMemoryError",
    "error_line",
    "explain",
    "known_name",
    "refuse_damaged",
    "unknown",
]

INPUT = 2
"""Exit code of bad input or usage."""
MACHINE = 3
"""Exit code when the machine lacks something: disk space, a permission, memory."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""


class MissingError(RuntimeError):
    """Something outside the program is missing, such as a tool or a worker; the text names it and the remedy."""


class OutOfMemoryError(MissingError):
    """A run, or its process, ended because memory ran out; the text has the details."""


def explain(error: BaseException) -> tuple[int, str] | None:
    """Exit code and a one-line message; None for an exception that can only be a bug of this program."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "interrupted; finished runs are kept"
    if isinstance(error, InputError | AqmError):
        return INPUT, str(error)
    if isinstance(error, MissingError):
        return MACHINE, str(error)
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return MACHINE, f"{place}{error.strerror or error}; {_REMEDIES.get(error.errno or 0, _ANY_REMEDY)}"
    if isinstance(error, MemoryError):
        return MACHINE, "out of memory; raise the limit, run fewer jobs at once (--jobs 1) or without probes.packets"
    return None


def error_line(error: BaseException) -> str:
    """Class and text of an exception on one line, even if its `__str__` raises."""
    try:
        text = str(error)
    except BaseException:
        text = "its message cannot be read"
    return ": ".join([type(error).__name__, *(line.strip() for line in text.splitlines())])


def refuse_damaged(folder: Path | str, what: str) -> NoReturn:
    """Raise `InputError` about a damaged result folder, which is never deleted: it may be the only copy."""
    raise InputError(f"{folder}: damaged result, {what}; run it again to another place (-o), or move this folder away")


def known_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the entry of `known` that equals `name` regardless of case; raise `InputError` if there is none."""
    names = list(known)
    if name in names:
        return name
    same = [one for one in names if one.lower() == name.lower()]
    if not same:
        raise unknown(kind, name, names)
    return same[0]


def unknown(kind: str, name: str, known: list[str]) -> InputError:
    """Build the error about a name that is not in `known`; suggests the nearest."""
    hint = near_name(name, known) or f"expected one of {', '.join(known)}"
    return InputError(f'{kind} "{name}" is unknown; {hint}')


def near_name(name: str, known: Iterable[str]) -> str:
    """Suggestion of the nearest name in `known`; empty if none is close."""
    from difflib import get_close_matches

    plain = {_plain(one): one for one in known}
    near = get_close_matches(_plain(name), plain, n=1, cutoff=0.5)
    return f'did you mean "{plain[near[0]]}"?' if near else ""


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


_ANY_REMEDY = "choose another place with -o"
_REMEDIES = {
    errno.ENOSPC: "free some space or choose another place with -o",
    errno.EDQUOT: "free some space or choose another place with -o",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f) or choose another place with -o",
    errno.EACCES: "choose a place with -o that you may write to",
    errno.EPERM: "choose a place with -o that you may write to",
    errno.EROFS: "choose a place with -o that you may write to",
    errno.EMFILE: "raise the limit on open files (ulimit -n) or lower --jobs",
}
