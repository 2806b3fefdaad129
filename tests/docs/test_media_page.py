"""`docs/data/media.csv` has the output of its script."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from tables import Table

SCRIPT = Path(__file__).parents[2] / "docs" / "media.py"


@pytest.mark.parametrize(("case", "control"), [("5.6", "gcc@unprobed"), ("5.4", "nada")])
def test_the_file_matches_the_script(case: str, control: str) -> None:
    script: dict[str, Any] = runpy.run_path(str(SCRIPT))
    found = Table.read("media.csv").where({"case": case, "control": control}).rows
    rows = [dict(zip(script["COLUMNS"], row, strict=True)) for row in script["rows_of"](case, control)]
    assert [{key: row[key] for key in found[0]} for row in rows] == list(found), "run: python docs/media.py"


def test_every_case_has_its_criteria() -> None:
    cases = {row["case"] for row in Table.read("media-cases.csv").rows}
    assert cases == {row["case"] for row in Table.read("media.csv").rows}
