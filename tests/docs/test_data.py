"""Tables of docs/data: shown on pages, drawn in figures, and with verdicts that follow from their numbers."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from draw import FIGURES, description, drawn_from
from parts import COMPARISONS, pages, renewed
from tables import DATA, SHOWN, Table, heading, html

DOCS = DATA.parent
FILES = sorted(path.name for path in DATA.glob("*.csv"))


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(DOCS)))
def test_parts_of_pages_match_the_data(page: Path) -> None:
    assert renewed(page) == page.read_text(encoding="utf-8"), "run: python docs/site/parts.py"


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_drawn_from_the_data(name: str) -> None:
    assert drawn_from(DATA / f"{name}.svg") == description(FIGURES[name][1]), "run: python docs/site/draw.py"


def test_every_file_is_shown_or_linked_by_a_page() -> None:
    texts = "\n".join(page.read_text(encoding="utf-8") for page in DOCS.glob("**/*.md") if page.parent != DATA)
    assert len(FILES) >= 30
    for file in FILES:
        assert f"data/{file}" in texts or re.search(rf"<!-- (data|rows): {re.escape(file)}[ >]", texts), file


@pytest.mark.parametrize("file", FILES)
def test_rows_have_a_value_in_every_column(file: str) -> None:
    table = Table.read(file)
    assert table.rows and len(set(table.columns)) == len(table.columns)
    for row in table.rows:
        assert None not in row and None not in row.values(), row


@pytest.mark.parametrize("file", sorted(COMPARISONS))
def test_verdicts_follow_from_the_distances(file: str) -> None:
    for row in Table.read(file).rows:
        if row["verdict"] != "not counted":
            assert (float(row["bands"]) <= 1.0005) == (row["verdict"] == "agrees"), row
        else:
            assert float(row["error_bands"]) > 1.0, row


def test_cells_that_differ_were_repeated() -> None:
    counts: Counter[str] = Counter()
    for file in COMPARISONS:
        if "seeds_here" in (table := Table.read(file)).columns:
            for row in table.rows:
                counts[row["verdict"]] += 1
                assert (row["seeds_here"] == "") == (row["verdict"] == "agrees")
    assert counts == {"agrees": 1094, "means agree": 27, "within seeds": 15, "apart": 16}


def test_a_table_in_the_site_has_links_code_and_no_constant_column() -> None:
    rows = [{"a": "1", "a_ci95": "0.5", "b_ms": "see [x](c.md#d), `e < f`", "c": "same"} for _ in range(2)]
    rows[1] |= {"a": "2", "a_ci95": "", "b_ms": "2"}
    table = Table("t.csv", ("a", "a_ci95", "b_ms", "c"), rows)
    assert table.headings == ["a", "b, ms"] and table.cells[0][0] == "1 ± 0.5"
    text = html("kernel/papers.md", table, {"c.md": "c.html"})
    assert '<a href="../data/t.csv" download>' in text and "data-search-exclude" in text
    assert '<td>see <a href="../c.html#d">x</a>, <code>e &lt; f</code></td>' in text and "same" not in text
    assert heading("delay_p50_ms_there") == "delay p50 ms there" and heading("cpu_s") == "cpu, s"


def test_a_filter_that_no_row_matches_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"media\.csv case=9: no row matches"):
        Table.parse("media.csv case=9")
    texts = [page.read_text(encoding="utf-8") for page in DOCS.glob("**/*.md")]
    found = [found["rows"] for text in texts for found in SHOWN.finditer(text)]
    assert len(found) >= 10 and all(Table.parse(rows).rows for rows in found)
