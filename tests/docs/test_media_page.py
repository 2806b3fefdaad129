"""The table of media.md is what its script measures."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("case", "control"), [("5.6", "gcc@unprobed"), ("5.4", "nada")])
def test_the_table_has_what_the_script_measures(case: str, control: str) -> None:
    script: dict[str, Any] = runpy.run_path(str(FOLDER / "media.py"))
    page = (FOLDER / "media.md").read_text(encoding="utf-8")
    for row in script["rows_of"](case, control):
        assert f"| {' | '.join(row)} |" in page, "run: python docs/media.py"
