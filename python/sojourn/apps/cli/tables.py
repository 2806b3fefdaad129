"""Tables printed by commands: for a terminal, as Markdown, LaTeX or CSV, sorted and with selected columns."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import groupby
from typing import Any

WIDTH = 140
"""Width of tables in characters without a terminal."""
GAP = 2
FORMATS = ("markdown", "latex", "csv")
ALL = "all"
"""Means every column with content."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    """Name for `--columns` and `--sort`, and heading in CSV."""
    heading: str
    unit: str = ""
    group: str = ""
    """Heading over this column and its neighbours of the same group."""
    left: bool = False
    """Whether it contains words."""
    key: bool = False
    """Whether it identifies rows: such columns are repeated in every part of a table that is too wide."""
    shown: bool = True
    """Whether tables show it by default."""

    @property
    def title(self) -> str:
        """Heading in one line."""
        words = " ".join(filter(None, (self.group, self.heading)))
        return f"{words} [{self.unit}]" if self.unit else words

    @property
    def words(self) -> set[str]:
        """Names accepted for it."""
        return {self.name, self.heading, f"{self.group} {self.heading}".strip()}


@dataclass(frozen=True)
class Cell:
    """A cell of a table: text, and the numbers behind it."""

    text: str
    value: Any = None
    """Value for sorting and for CSV; default: the text."""
    half: float | None = None
    """Half width of the confidence interval."""

    @property
    def empty(self) -> bool:
        """Whether it has no content."""
        return self.text.strip() in ("", "–")


@dataclass(frozen=True)
class Table:
    """Rows of cells under columns."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    title: str = ""

    def chosen(self, wanted: Sequence[str], idle: Sequence[str] = ()) -> Table:
        """Return the table with the wanted columns after the key columns.

        By default all columns shown by default with content, with "all" every one with content. `idle` columns have no
        content if all their numbers are zero.
        """
        keys = [place for place, column in enumerate(self.columns) if column.key]
        if not wanted or ALL in wanted:
            chosen = [place for place, column in enumerate(self.columns) if column.shown or wanted]
            return self.with_columns([place for place in chosen if place in keys or self._tells(place, idle)])
        found = [self._place(word, "--columns") for word in wanted]
        return self.with_columns([*(place for place in keys if place not in found), *found])

    def sorted(self, by: str) -> Table:
        """Return the table sorted by a column; `-NAME` is descending, "" keeps the order."""
        if not by:
            return self
        place = self._place(by.removeprefix("-"), "--sort")

        def rank(row: Sequence[Cell]) -> tuple[bool, float, list[Any]]:
            cell = row[place]
            number = cell.value if isinstance(cell.value, int | float) else None
            return number is None, number or 0.0, _natural(cell.text)

        there, missing = ([row for row in self.rows if row[place].empty is none] for none in (False, True))
        return replace(self, rows=[*sorted(there, key=rank, reverse=by.startswith("-")), *missing])

    def with_columns(self, places: Sequence[int]) -> Table:
        """Return the table with the columns at these indices."""
        columns = [self.columns[place] for place in places]
        return replace(self, columns=columns, rows=[[row[place] for place in places] for row in self.rows])

    def _tells(self, place: int, idle: Sequence[str]) -> bool:
        cells = [row[place] for row in self.rows]
        if self.columns[place].name in idle and not any(cell.value for cell in cells):
            return False
        return not cells or any(not cell.empty for cell in cells)

    def _place(self, word: str, option: str) -> int:
        from sojourn.base.errors import InputError, unknown

        found = [place for place, column in enumerate(self.columns) if word in column.words]
        named = [place for place in found if self.columns[place].name == word] or found
        if len(named) == 1:
            return named[0]
        known = [column.name for column in self.columns]
        near = get_close_matches(word, [one for column in self.columns for one in column.words], n=1, cutoff=0.5)
        if named:
            raise InputError(
                f'{option}: "{word}" matches several columns; write {" or ".join(known[p] for p in named)}'
            )
        raise unknown(f"{option}: column", word, near or known)


def render(table: Table, form: str, width: int) -> str:
    """Text of a table in one of `FORMATS`, or for a terminal of `width` characters."""
    return {"markdown": as_markdown, "latex": as_latex, "csv": as_csv}[form](table) if form else as_text(table, width)


# For a terminal.


def as_text(table: Table, width: int = WIDTH) -> str:
    """Columns of text, split into parts below each other if too wide; words wrap.

    Intervals are printed close to their means (`8.0±0.1`) if that saves a part.
    """
    parts = list(_parts(table, width))
    if len(parts) > 1:
        parts = min(parts, list(_parts(_close(table), width)), key=len)
    title = "\n".join(textwrap.wrap(table.title, width))
    return "\n".join(filter(None, (title, "\n\n".join("\n".join(_part(part, width)) for part in parts))))


def _close(table: Table) -> Table:
    """The table without the spaces around ±."""
    return replace(
        table, rows=[[replace(cell, text=cell.text.replace(" ± ", "±")) for cell in row] for row in table.rows]
    )


def _parts(table: Table, width: int) -> Iterator[Table]:
    """The table, or parts of it with as many columns as fit, each with the key columns."""
    keys = [place for place, column in enumerate(table.columns) if column.key]
    others = [place for place, column in enumerate(table.columns) if not column.key]
    if any(table.columns[place].left for place in others):  # its words wrap
        yield table
        return
    groups = [list(places) for _, places in groupby(others, lambda place: table.columns[place].group or place)]
    whole, broken = (_packed(table, keys, units, width) for units in (groups, [[place] for place in others]))
    fits = max(_width_of(table, keys, part) for part in whole) <= width
    for part in whole if fits and len(whole) <= len(broken) else broken:
        yield table.with_columns([*keys, *part])


def _packed(table: Table, keys: list[int], units: Sequence[list[int]], width: int) -> list[list[int]]:
    """Columns in the minimum number of parts, each as narrow as possible; units are not split."""

    def fill(width: int) -> list[list[int]]:
        parts: list[list[int]] = [[]]
        for unit in units:
            if parts[-1] and _width_of(table, keys, [*parts[-1], *unit]) > width:
                parts.append([])
            parts[-1] += unit
        return parts

    parts = fill(width)
    for narrower in range(width - 1, 0, -1):
        tried = fill(narrower)
        if len(tried) > len(parts):
            break
        parts = tried
    return parts


def _width_of(table: Table, keys: list[int], part: list[int]) -> int:
    return _total(_widths(table.with_columns([*keys, *part])))


def _part(table: Table, width: int) -> list[str]:
    widths = _fitted(table, width)
    lines = [*_head(table, widths), "─" * _total(widths)]
    for row in table.rows:
        cells = [
            textwrap.wrap(cell.text, size, break_on_hyphens=False) or [""] if column.left else [cell.text]
            for cell, column, size in zip(row, table.columns, widths, strict=True)
        ]
        for number in range(max(map(len, cells))):
            texts = [cell[number] if number < len(cell) else "" for cell in cells]
            lines.append(_line(texts, table.columns, widths))
    return lines


def _head(table: Table, widths: Sequence[int]) -> list[str]:
    """Two heading lines: groups and headings with a unit, then subheadings, units, and other headings."""
    above: list[str] = []
    below: list[str] = []
    for columns, sizes in _groups(table.columns, widths):
        if columns[0].group:
            above.append(f"{_over(columns):─^{_total(sizes)}}")
            below += [_under(column, columns) for column in columns]
            continue
        for column, size in zip(columns, sizes, strict=True):
            first, second = _lines(column)
            above.append(_aligned(first, column, size))
            below.append(second)
    over, under = (" " * GAP).join(above).rstrip(), _line(below, table.columns, widths)
    return [over, under] if over else [under]


def _groups(columns: Sequence[Column], widths: Sequence[int]) -> Iterator[tuple[list[Column], list[int]]]:
    """Neighbours under one heading, and their widths."""
    for _, places in groupby(range(len(columns)), lambda place: columns[place].group):
        members = list(places)
        yield [columns[place] for place in members], [widths[place] for place in members]


def _over(columns: Sequence[Column]) -> str:
    """Heading of a group, with the unit common to all its columns."""
    unit = _common_unit(columns)
    return f" {columns[0].group} [{unit}] " if unit else f" {columns[0].group} "


def _under(column: Column, group: Sequence[Column]) -> str:
    """Heading of a column below that of its group."""
    return column.heading if _common_unit(group) or not column.unit else f"{column.heading} [{column.unit}]"


def _lines(column: Column) -> tuple[str, str]:
    """Heading of a column outside groups, in two lines: its unit below, or the second of two words."""
    first, _, second = column.heading.partition(" ")
    if column.unit:
        return column.heading, column.unit
    return (first, second) if second and " " not in second and not column.left else ("", column.heading)


def _common_unit(columns: Sequence[Column]) -> str:
    units = {column.unit for column in columns}
    return units.pop() if len(units) == 1 else ""


def _widths(table: Table) -> list[int]:
    """Width of each column; the first one of a group is widened to fit the group's heading."""
    found: list[int] = []
    places = iter(range(len(table.columns)))
    for columns, _ in _groups(table.columns, [0] * len(table.columns)):
        own = []
        for column in columns:
            place = next(places)
            heads = [_under(column, columns)] if column.group else _lines(column)
            own.append(max(len(text) for text in (*heads, *(row[place].text for row in table.rows))))
        if columns[0].group:
            own[0] += max(0, len(_over(columns)) - _total(own))
        found += own
    return found


def _fitted(table: Table, width: int) -> list[int]:
    """Widths at which the table fits `width` by wrapping words; words are broken only if necessary."""
    widths = _widths(table)
    for least in (_longest_words(table), [MIN_WIDTH] * len(widths)):
        while _total(widths) > width:
            wide = [place for place, column in enumerate(table.columns) if column.left and widths[place] > least[place]]
            if not wide:
                break
            widths[max(wide, key=lambda place: widths[place])] -= 1
    return widths


def _longest_words(table: Table) -> list[int]:
    """Length of the longest word of each column."""
    texts = [[column.heading, *(row[place].text for row in table.rows)] for place, column in enumerate(table.columns)]
    return [max((len(word) for text in column for word in text.split()), default=MIN_WIDTH) for column in texts]


MIN_WIDTH = 8
"""Minimum width of a column whose words wrap."""


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _line(texts: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    cells = (_aligned(text, column, size) for text, column, size in zip(texts, columns, widths, strict=True))
    return (" " * GAP).join(cells).rstrip()


def _aligned(text: str, column: Column, size: int) -> str:
    return text.ljust(size) if column.left else text.rjust(size)


# For documents and programs.


def as_markdown(table: Table) -> str:
    """A GitHub-flavoured Markdown table, with its title in a line above."""
    marks = [":--" if column.left else "--:" for column in table.columns]
    lines = [[_escaped(column.title) for column in table.columns], marks]
    lines += [[_escaped(cell.text) for cell in row] for row in table.rows]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{_escaped(table.title)}\n\n{text}" if table.title else text


def _escaped(text: str) -> str:
    return re.sub(r"([|\\*_`<])", r"\\\1", text)


def as_latex(table: Table) -> str:
    r"""A tabular with the rules of booktabs and plain columns; the title is a comment."""
    from sojourn.base.latex import latex

    def text(words: str) -> str:
        plain = latex(words).replace(r"\ensuremath{\pm}", r"$\pm$")
        return re.sub(r"(?<![\w-])-(?=\d)", "$-$", plain).replace(" *", "$^{*}$").strip()

    rules, above, below = [], [], []
    at = 1
    for columns, _ in _groups(table.columns, [0] * len(table.columns)):
        if columns[0].group and len(columns) > 1:
            above.append(rf"\multicolumn{{{len(columns)}}}{{c}}{{{text(_over(columns).strip())}}}")
            rules.append(rf"\cmidrule(lr){{{at}-{at + len(columns) - 1}}}")
            below += [text(_under(column, columns)) for column in columns]
        else:
            above += [""] * len(columns)
            below += [text(column.title) for column in columns]
        at += len(columns)
    lines = [f"% {table.title}"] if table.title else []
    lines += [rf"\begin{{tabular}}{{{''.join('l' if column.left else 'r' for column in table.columns)}}}", r"\toprule"]
    if rules:
        lines += [rf"{' & '.join(above)} \\", " ".join(rules)]
    lines += [rf"{' & '.join(below)} \\", r"\midrule"]
    lines += [rf"{' & '.join(text(cell.text) for cell in row)} \\" for row in table.rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def as_csv(table: Table) -> str:
    """Comma-separated values: plain numbers, half widths in columns of their own."""
    with_half = [any(row[place].half is not None for row in table.rows) for place in range(len(table.columns))]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    names = ([column.name, f"{column.name}_ci95"] if half else [column.name] for column, half in _zip(table, with_half))
    writer.writerow([name for both in names for name in both])
    for row in table.rows:
        cells = ([_raw(cell), cell.half] if half else [_raw(cell)] for cell, half in zip(row, with_half, strict=True))
        writer.writerow(["" if value is None else value for both in cells for value in both])
    return file.getvalue().rstrip("\n")


def _zip(table: Table, flags: Sequence[bool]) -> Iterator[tuple[Column, bool]]:
    return zip(table.columns, flags, strict=True)


def _raw(cell: Cell) -> Any:
    if cell.value is not None:
        return cell.value
    return None if cell.empty else cell.text.strip()


def _natural(text: str) -> list[tuple[int, float, str]]:
    """Natural sort key: words and numbers of a text, so that 4 flows come before 16."""
    parts = [part for part in re.split(r"(\d+(?:\.\d+)?)", text) if part]
    return [(0, float(part), "") if part[0].isdigit() else (1, 0.0, part) for part in parts]
