"""The pages of the congestion controls are what docs/cc/generate.py writes."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "cc"
PAGES: dict[str, str] = runpy.run_path(str(FOLDER / "generate.py"))["pages"]()


@pytest.mark.parametrize("name", sorted(PAGES))
def test_page_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name], "run: make pages"


def test_every_page_belongs_to_a_control() -> None:
    assert {path.name for path in FOLDER.glob("*.md")} == set(PAGES)
