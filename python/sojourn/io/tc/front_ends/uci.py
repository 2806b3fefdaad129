"""Sections of OpenWrt's configuration files (UCI), as `/etc/config` and `uci show` have them.

Source: libuci (`file.c`): words between blanks, in quotes or not; `#` begins a comment, `;` ends a statement.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from sojourn.base.errors import InputError
from sojourn.io.tc.front_ends.translation import Translation

MAX_TEXT = 1 << 20
"""Maximum characters of a configuration; OpenWrt's have some thousands."""


@dataclass
class Section:
    """A section; an option that nobody takes is unknown."""

    kind: str
    name: str
    line: int
    values: dict[str, str] = field(default_factory=dict)
    """Values by option; those of a list are separated by spaces."""
    lines: dict[str, int] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    @property
    def title(self) -> str:
        """Section in messages."""
        return f"config {self.kind} {self.name}".rstrip()

    def take(self, option: str, default: str = "") -> str:
        """Value of an option; the default if it is missing or empty (`config_get`)."""
        self.taken.add(option)
        return self.values.get(option, "") or default

    def switch(self, option: str, default: str) -> bool:
        """Whether an option is on (`config_get_bool`); the default for values that are neither on nor off."""
        value = self.take(option)
        return (value if value in ON or value in OFF else default) in ON

    def place(self, option: str) -> int:
        """Line of an option; that of the section if it is missing."""
        return self.lines.get(option, self.line)

    def left(self) -> Iterator[tuple[int, str]]:
        """Options that nobody took, each with its line."""
        for option, value in self.values.items():
            if option not in self.taken:
                yield self.lines[option], f"option {option} '{value}'"


def read(text: str, found: Translation) -> list[Section]:
    """Sections of a configuration; notes its lines that are no statement, but not those of `ip route` beside it."""
    whole = _Config()
    for statement in statements(text):
        if not whole.add(statement):
            found.note_line(statement.line, statement.text)
    return whole.sections


def holds(text: str, kinds: Collection[str], options: Collection[str] = ()) -> bool:
    """Whether a section of one of the kinds has one of the options, if any are given."""
    if not LIKE_UCI.search(text):
        return False
    whole = _Config()
    for statement in statements(text[:MAX_TEXT]):
        whole.add(statement)
    return any(
        one.kind in kinds and (not options or not one.values.keys().isdisjoint(options)) for one in whole.sections
    )


@dataclass
class Statement:
    """Words of a statement."""

    line: int
    words: list[str]
    rest: str
    """Characters at its end that are no word, such as a quote without its end."""

    @property
    def text(self) -> str:
        """Statement in messages."""
        return " ".join([*self.words, self.rest]).rstrip()


@dataclass
class _Config:
    sections: list[Section] = field(default_factory=list)
    shown: dict[str, Section] = field(default_factory=dict)
    """Sections of `uci show` by package and name."""

    def add(self, statement: Statement) -> bool:
        """Add a statement; false for anything else."""
        first, *values = statement.words or [""]
        if statement.rest:
            return False
        if shown := SHOWN.match(first):
            return self._show(shown, values, statement.line)
        if first == "config" and 0 < len(values) < 3:
            self.sections.append(Section(values[0], values[1] if len(values) > 1 else "", statement.line))
        elif first in ("option", "list") and len(values) == 2 and self.sections:
            _set(self.sections[-1], values, statement.line, is_list=first == "list")
        else:
            return first == "package"
        return True

    def _show(self, shown: re.Match[str], values: Sequence[str], line: int) -> bool:
        """Add a line of `uci show`, `package.section=kind` or `package.section.option='value' 'value'`."""
        key, option, value = f"{shown[1]}.{shown[2]}", shown[3], " ".join([shown[4], *values])
        if option is None:
            self.shown[key] = Section(value, "" if shown[2].startswith("@") else shown[2], line)
            self.sections.append(self.shown[key])
        elif key in self.shown:
            _set(self.shown[key], [option, value], line, is_list=False)
        return option is None or key in self.shown


def _set(section: Section, words: Sequence[str], line: int, *, is_list: bool) -> None:
    option, value = words[0], words[1]
    before = section.values.get(option) if is_list else None
    section.values[option] = f"{before} {value}" if before else value
    section.lines[option] = line


def statements(text: str) -> Iterator[Statement]:
    """Statements with their lines; raises `InputError` for a text that is too long."""
    if len(text) > MAX_TEXT:
        raise InputError("more than 1 MiB, which no configuration of OpenWrt has; give the file of one program")
    for number, line in enumerate(text.split("\n"), 1):
        words: list[str] = []
        place = 0
        while found := NEXT.match(line, place):
            place = found.end()
            if found[1]:
                words.append(PART.sub(_unquoted, found[1]))
            elif words:
                yield Statement(number, words, "")
                words = []
        rest = line[place:].strip()
        rest = "" if rest.startswith("#") else rest
        if words or rest:
            yield Statement(number, words, rest)


def _unquoted(part: re.Match[str]) -> str:
    if part[0].startswith("'"):
        return part[0][1:-1]
    if part[0].startswith('"'):
        return re.sub(r"\\(.)", r"\1", part[0][1:-1])
    return part[0].removeprefix("\\")


PART = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\#;]""")
NEXT = re.compile(rf"\s*(?:((?:{PART.pattern})+)|;)")
"""A word, or the end of a statement."""
LIKE_UCI = re.compile(r"^[ \t]*config[ \t]|^[\w-]+\.@?[\w-]+(?:\[-?\d+\])?=", re.MULTILINE)
"""First statement of a section."""
SHOWN = re.compile(r"([\w-]+)\.(@?\w[\w-]*(?:\[-?\d+\])?)(?:\.([\w-]+))?=(.*)")
"""A line of `uci show`."""
ON = ("1", "on", "true", "yes", "enabled")
OFF = ("0", "off", "false", "no", "disabled")
"""Values of switches (`config_get_bool` in OpenWrt's `functions.sh`)."""
