"""Tables of `docs/data` in pages: rows in Markdown, or all rows with a filter and sorting in the site.

`<!-- data: FILE.csv [COLUMN=VALUE …] -->` becomes a table of the matching rows in the site. In the same words after
`rows:`, closed by `<!-- end -->`, the rows stand in the page itself (`parts.py` writes them). A column whose values are
all equal is left out, and a column `NAME_ci95` is shown as the `±` of NAME.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path, PurePosixPath
from posixpath import relpath

DATA = Path(__file__).parents[1] / "data"
SHOWN = re.compile(r"^<!-- data: (?P<rows>[^>]+?) -->$", re.MULTILINE)
UNITS = {
    "mbps": "Mbit/s",
    "gbps": "Gbit/s",
    "ms": "ms",
    "s": "s",
    "ns": "ns",
    "percent": "%",
    "bytes": "B",
    "gb": "GB",
}
"""By the last word of a column's name."""
CI95 = "_ci95"


@dataclass(frozen=True)
class Table:
    """A file of `docs/data`, or some of its rows."""

    file: str
    columns: Sequence[str]
    rows: Sequence[Mapping[str, str]]

    @classmethod
    def read(cls, file: str) -> Table:
        """Read a file; raises `FileNotFoundError`."""
        with (DATA / file).open(encoding="utf-8", newline="") as source:
            reader = csv.DictReader(source)
            return cls(file, tuple(reader.fieldnames or ()), tuple(reader))

    @classmethod
    def parse(cls, text: str) -> Table:
        """Read `FILE.csv COLUMN=VALUE …`; raises `ValueError` if no row matches."""
        file, *filters = text.split()
        table = cls.read(file).where(dict(one.split("=", 1) for one in filters))
        if not table.rows:
            raise ValueError(f"{text}: no row matches")
        return table

    def where(self, values: Mapping[str, str]) -> Table:
        """Return the rows that have these values, without their columns."""
        rows = [row for row in self.rows if all(row[name] == value for name, value in values.items())]
        return Table(self.file, [name for name in self.columns if name not in values], rows)

    @property
    def headings(self) -> list[str]:
        """Names of the columns that are shown, in words."""
        return [heading(name) for name in self._shown]

    @property
    def cells(self) -> list[list[str]]:
        """Texts of the columns that are shown."""
        return [[self._cell(row, name) for name in self._shown] for row in self.rows]

    @property
    def _shown(self) -> list[str]:
        several = [name for name in self.columns if len(self.rows) == 1 or len({row[name] for row in self.rows}) > 1]
        return [name for name in several or self.columns if not name.endswith(CI95)]

    @staticmethod
    def _cell(row: Mapping[str, str], name: str) -> str:
        half = row.get(name + CI95, "")
        return f"{row[name]} ± {half}" if half else row[name]


def heading(column: str) -> str:
    """Return a column's name in words, with its unit."""
    *words, last = column.split("_")
    return f"{' '.join(words)}, {UNITS[last]}" if words and last in UNITS else column.replace("_", " ")


def with_tables(page: str, markdown: str, site_names: Mapping[str, str]) -> str:
    """Return a page's text with its tables in HTML; `site_names` maps Markdown files to pages of the site."""
    return SHOWN.sub(lambda found: html(page, Table.parse(found["rows"]), site_names), markdown)


def html(page: str, table: Table, site_names: Mapping[str, str]) -> str:
    """Return a table with its bar; `tables.js` makes the bar work. The search of the site skips it."""
    folder = PurePosixPath(page).parent.as_posix()
    file = relpath(f"data/{table.file}", folder)
    head = "".join(f"<th>{escape(text)}</th>" for text in table.headings)

    def inline(text: str) -> str:
        text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))

        def link(found: re.Match[str]) -> str:
            name, _, anchor = found[2].partition("#")
            target = relpath(site_names.get(name, name), folder)
            return f'<a href="{target}{"#" * bool(anchor)}{anchor}">{found[1]}</a>'

        return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", link, text)

    body = "".join(f"<tr>{''.join(f'<td>{inline(cell)}</td>' for cell in row)}</tr>" for row in table.cells)
    bar = (
        f'<div class="data-bar"><input type="search" placeholder="Filter {len(table.rows)} rows" '
        f'aria-label="Filter rows" hidden><span></span><a href="{file}" download>{table.file}</a></div>'
    )
    inside = f'<table class="rows"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    # Material ends the exclusion at the first end tag of the same name, so nothing inside is a section.
    return f'<section class="data" data-search-exclude>{bar}<div class="data-rows">{inside}</div></section>'
