"""Assignments of a shell script, for configurations that are one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sojourn.base.errors import InputError

MAX_TEXT = 1 << 20
"""Maximum characters of a configuration."""


@dataclass
class Assignment:
    """A variable with its value."""

    line: int
    name: str
    value: str
    """Value without its quotes; `(…)` for an array."""
    is_literal: bool
    """Whether the shell expands nothing in it."""


def assignments(text: str) -> Iterator[Assignment | tuple[int, str]]:
    """Assignments in order; other lines as numbers and texts, with their indentation.

    Raises `InputError` for a text that is too long.
    """
    if len(text) > MAX_TEXT:
        raise InputError("more than 1 MiB, which no configuration of a shell script has; give the file alone")
    opened = 0
    for number, line in enumerate(text.split("\n"), 1):
        if opened:
            opened = 0 if _closes(line) else opened
            continue
        place = _skip(line, 0)
        while place < len(line) and line[place] != "#":
            found = ASSIGNMENT.match(line, place)
            if found is None:
                yield number, line if place == _skip(line, 0) else line[place:]
                break
            if line.startswith("(", found.end()):
                yield Assignment(number, found[1], "(…)", is_literal=True)
                opened = 0 if _closes(line[found.end() :]) else number
                break
            value = VALUE.match(line, found.end())
            raw = value[0] if value else ""
            end = found.end() + len(raw)
            if end < len(line) and not line[end].isspace() and line[end] not in ";#":
                yield number, line if place == _skip(line, 0) else line[place:]
                break
            yield Assignment(number, found[1], PART.sub(_unquoted, raw), is_literal=not EXPANDED.search(_bare(raw)))
            place = _skip(line, end)


def _skip(line: str, place: int) -> int:
    """Place of the next word."""
    while place < len(line) and (line[place].isspace() or line[place] == ";"):
        place += 1
    return place


def _closes(line: str) -> bool:
    """Whether a line of an array is its last."""
    return ")" in re.sub(r"\"[^\"]*\"|'[^']*'|(?:^|\s)#.*", "", line)


def _bare(raw: str) -> str:
    """Value without the parts in single quotes."""
    return re.sub(r"'[^']*'", "", raw)


def _unquoted(part: re.Match[str]) -> str:
    if part[0][0] in "'\"":
        return part[0][1:-1]
    return part[0].removeprefix("\\")


ASSIGNMENT = re.compile(r"(?:(?:export|local|readonly|declare(?:\s+-\w+)*)\s+)?([A-Za-z_]\w*)=")
PART = re.compile(r"""'[^']*'|"[^"]*"|\\.|[^\s'"\\;]""")
VALUE = re.compile(rf"(?:{PART.pattern})*")
EXPANDED = re.compile(r"[$`]")
