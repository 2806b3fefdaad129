"""The one map from exceptions to exit codes and to sentences that name the place and the remedy."""

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
    "LostError",
    "MissingError",
    "damaged",
    "explain",
    "known_name",
    "said",
    "unknown",
]

INPUT = 2
"""Exit code of bad input or usage."""
MACHINE = 3
"""Exit code when the environment lacks something: space, a permission, memory."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""


class MissingError(RuntimeError):
    """Something outside the program is missing, such as a worker; the text names it and the remedy."""


class LostError(MissingError):
    """The process of a run ended for lack of memory; the text says how."""


def explain(error: BaseException) -> tuple[int, str] | None:
    """Exit code and one line for `error`; None for what can only be a defect of the program."""
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


def said(error: BaseException) -> str:
    """Kind and text of an exception in one line, also of one whose class fails to give its text."""
    try:
        text = str(error)
    except BaseException:
        text = "its text cannot be read"
    return ": ".join([type(error).__name__, *(line.strip() for line in text.splitlines())])


def damaged(folder: Path | str, what: str) -> NoReturn:
    """Refuse a result folder that is not as it was written; nothing is to be deleted, it may be an only copy."""
    raise InputError(f"{folder}: damaged result, {what}; run it again to another place (-o), or move this folder away")


def known_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the one of `known` that `name` is without regard to case; raise `InputError` if there is none."""
    names = list(known)
    if name in names:
        return name
    same = [one for one in names if one.lower() == name.lower()]
    if not same:
        raise unknown(kind, name, names)
    return same[0]


def unknown(kind: str, name: str, known: list[str]) -> InputError:
    """Build the error about a name that is not among `known`, with the nearest that is."""
    hint = near_name(name, known) or f"there is {', '.join(known)}"
    return InputError(f'{kind} "{name}" is unknown; {hint}')


def near_name(name: str, known: Iterable[str]) -> str:
    """Ask whether the nearest of `known` was meant; empty if none is close."""
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
