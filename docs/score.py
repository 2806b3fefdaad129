"""Writes the tables of docs/score.md from the registry of rows: `python docs/score.py`."""

from __future__ import annotations

from pathlib import Path

from sojourn.base.markdown import replace_part, table
from sojourn.studies.score import ROWS
from sojourn.studies.score.grades import BANDS, LETTERS
from sojourn.studies.score.numbers import NUMBERS
from sojourn.studies.score.profiles import PROFILES

PAGE = Path(__file__).with_name("score.md")


def text(page: str) -> str:
    """The page with its tables written anew."""
    rows = [
        [
            f"[`{name}`](../scenarios/score/{name}.toml)" if not row.facts else f"`{name}`",
            row.section,
            row.title,
            "; ".join(NUMBERS[one].metric.label for one in row.numbers),
        ]
        for name, row in ROWS.items()
    ]
    profiles = [
        [f"`{one.name}`", one.about, f"{one.buffer} packets" if one.buffer else "bandwidth-delay product"]
        for one in PROFILES.values()
    ]
    bands = [
        [name, *band.texts(), ", ".join(number.metric.label for number in NUMBERS.values() if number.band == name)]
        for name, band in BANDS.items()
    ]
    page = replace_part(page, "table", "rows", table(("row", "RFC 7928", "traffic", "numbers"), rows))
    page = replace_part(page, "table", "profiles", table(("profile", "link", "buffer"), profiles))
    return replace_part(page, "table", "bands", table(("band", *LETTERS[:-1], "of"), bands))


if __name__ == "__main__":
    PAGE.write_text(text(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
