"""Input files of users: their contents, or a one-line error."""

from __future__ import annotations

import codecs
import json
import re
import sys
from datetime import date, time
from pathlib import Path
from typing import Any

from sojourn.base.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["MAX_DEPTH", "decoded", "first_bytes", "parse_json", "parse_toml", "read_bytes", "read_text", "tomllib"]

MAX_DEPTH = 64
"""Maximum nesting of tables and lists; our own files have six levels."""
MAX_BITS = 64
"""Maximum bits of an integer."""


def read_bytes(path: Path | str, kind: str = "file") -> bytes:
    """Contents of an input file; raises `InputError` if it cannot be read.

    Pipes and devices are refused, because they may never end and cannot be read twice.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise InputError(f"{path}: not a regular file, so it may never end; write its contents to a file first")
        return path.read_bytes()
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; give the path of a readable {kind}") from None
    except ValueError:
        raise InputError(f"{str(path)!r}: not a file name; give the path of a readable {kind}") from None


def first_bytes(path: Path | str, count: int) -> bytes:
    """Up to `count` bytes at the beginning of a regular file; none if it is something else or cannot be read."""
    path = Path(path)
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(count)
    except (OSError, ValueError):
        return b""


def read_text(path: Path | str, kind: str = "TOML") -> str:
    """Text of an input file, with Unix line endings."""
    try:
        return decoded(read_bytes(path))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file (byte {error.start} is not UTF-8); give a {kind} file") from None


def decoded(data: bytes, errors: str = "strict") -> str:
    """Text of UTF-8, or of UTF-16 that begins with its mark, as PowerShell writes it, with Unix line endings."""
    encoding = "utf-16" if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    return data.decode(encoding, errors).replace("\r\n", "\n").replace("\r", "\n")


def parse_toml(text: str) -> dict[str, Any]:
    """Document of a TOML text; errors do not name the file."""
    try:
        document: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{error}; fix the TOML there") from None
    except RecursionError:
        raise _too_deep(_deep_line(text)) from None
    except ValueError as error:  # e.g. thousands of digits, or an invalid date
        raise InputError(f"{str(error).split(';')[0]}; fix the TOML") from None
    _check(document)
    return document


def parse_json(text: str | bytes) -> Any:
    """Value of a JSON text; raises ValueError, or its subclass InputError."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise _too_deep(_deep_line(text if isinstance(text, str) else text.decode("utf-8", "replace"))) from None
    _check(value)
    return value


def _check(document: Any) -> None:
    """Refuse what no file format of ours has: deep nesting (exhausts stacks), dates, integers of more than 64 bits."""
    left: list[tuple[Any, tuple[str, ...]]] = [({"": document}, ())]
    while left:
        value, place = left.pop()
        items = value.items() if isinstance(value, dict) else ((f"[{index}]", item) for index, item in enumerate(value))
        for key, item in items:
            if isinstance(item, dict | list):
                if len(place) > MAX_DEPTH:
                    raise _too_deep(_path_text((*place, key)))
                left.append((item, (*place, key)))
            elif isinstance(item, date | time):  # datetime is a date
                raise InputError(
                    f'{_path_text((*place, key))}: {item} is a date or a time of day; write a text, e.g. "5 ms"'
                )
            elif isinstance(item, int) and item.bit_length() > MAX_BITS:
                raise InputError(
                    f"{_path_text((*place, key))}: a whole number of more than {MAX_BITS} bits; write a smaller one"
                )


def _path_text(place: tuple[str, ...]) -> str:
    """Path of a value, such as `flows[0].rate`; only the first six steps of a longer one."""
    steps = place[1:]  # the first is the document
    text = "".join(step if step.startswith("[") else f".{step}" for step in steps[:6]).removeprefix(".")
    return text + ("…" if len(steps) > 6 else "") or "the file"


def _deep_line(text: str) -> str:
    """First line of TOML or JSON that exceeds `MAX_DEPTH`; brackets in strings and comments do not count."""
    depth = 0
    for part in re.finditer(
        r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}]', text, re.DOTALL
    ):
        if part[0] in "[]{}":
            depth = depth + 1 if part[0] in "[{" else max(0, depth - 1)
        if depth > MAX_DEPTH:
            return f"line {text.count(chr(10), 0, part.start()) + 1}"
    return ""


def _too_deep(place: str) -> InputError:
    reason = f"tables or lists are nested more than {MAX_DEPTH} deep; write them flatter"
    return InputError(f"{place}: {reason}" if place else reason)
