"""Reading what users give: a file becomes its contents, or one line that says what is wrong with it."""

from __future__ import annotations

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

__all__ = ["DEEPEST", "parse_json", "parse_toml", "read_bytes", "read_text", "tomllib"]

DEEPEST = 64
"""Most tables and lists within each other; files of ours have six."""
BITS = 64
"""Most bits of a whole number."""


def read_bytes(path: Path | str, kind: str = "file") -> bytes:
    """Contents of an input file of some kind; a file that cannot be read is bad input.

    Pipes and devices are refused, because they may never end; so is what needs to be read more than once.
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
        raise InputError(f"{str(path)!r}: not the name of a file; give the path of a readable {kind}") from None


def read_text(path: Path | str, kind: str = "TOML") -> str:
    """Text of an input file of some kind."""
    try:
        # As a text file is read: any end of a line is "\n".
        return read_bytes(path).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file (byte {error.start} is not UTF-8); give a {kind} file") from None


def parse_toml(text: str) -> dict[str, Any]:
    """Document of a TOML text; what is wrong with it does not name the file."""
    try:
        document: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{error}; fix the TOML there") from None
    except RecursionError:
        raise _too_deep(_deep_line(text)) from None
    except ValueError as error:  # a number of thousands of digits, a date that is none
        raise InputError(f"{str(error).split(';')[0]}; fix the TOML") from None
    _check(document)
    return document


def parse_json(text: str | bytes) -> Any:
    """Value of a JSON text, or ValueError (of which InputError is one)."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise _too_deep(_deep_line(text if isinstance(text, str) else text.decode("utf-8", "replace"))) from None
    _check(value)
    return value


def _check(document: Any) -> None:
    """Refuse what no file of ours has: deep nesting, which exhausts stacks; dates; numbers of more than 64 bits."""
    left: list[tuple[Any, tuple[str, ...]]] = [({"": document}, ())]
    while left:
        value, place = left.pop()
        named = value.items() if isinstance(value, dict) else ((f"[{index}]", item) for index, item in enumerate(value))
        for key, item in named:
            if isinstance(item, dict | list):
                if len(place) > DEEPEST:
                    raise _too_deep(_spelled((*place, key)))
                left.append((item, (*place, key)))
            elif isinstance(item, date | time):  # datetime is a date
                raise InputError(
                    f'{_spelled((*place, key))}: {item} is a date or a time of day; write a text, e.g. "5 ms"'
                )
            elif isinstance(item, int) and item.bit_length() > BITS:
                raise InputError(
                    f"{_spelled((*place, key))}: a whole number of more than {BITS} bits; write a smaller one"
                )


def _spelled(place: tuple[str, ...]) -> str:
    """Where a value stands: `flows[0].rate`; of a long way only the beginning."""
    steps = place[1:]  # the first is the document
    text = "".join(step if step.startswith("[") else f".{step}" for step in steps[:6]).removeprefix(".")
    return text + ("…" if len(steps) > 6 else "") or "the file"


def _deep_line(text: str) -> str:
    """The line of TOML or JSON in which too many lists and tables are open; strings and comments do not count."""
    depth = 0
    for part in re.finditer(
        r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}]', text, re.DOTALL
    ):
        if part[0] in "[]{}":
            depth = depth + 1 if part[0] in "[{" else max(0, depth - 1)
        if depth > DEEPEST:
            return f"line {text.count(chr(10), 0, part.start()) + 1}"
    return ""


def _too_deep(place: str) -> InputError:
    said = f"more than {DEEPEST} tables or lists within each other; write it flatter"
    return InputError(f"{place}: {said}" if place else said)
