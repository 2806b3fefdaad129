"""The data files of transports.md have the output of their scripts."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from tables import Table

DOCS = Path(__file__).parents[2] / "docs"


def test_rows_match_the_script() -> None:
    script: dict[str, Any] = runpy.run_path(str(DOCS / "transports.py"))
    measured = [list(row) for row in script["bbr"]()]
    assert measured == [list(row.values()) for row in Table.read("bbr-min-rtt.csv").rows], "run: docs/transports.py"
    sets = {"flows.0.cc": "cubic", "flows.1.cc": "cubic", "link.aqm": "fq_codel"}
    [row] = Table.read("quic.csv").where({"control": "cubic", "queue": "FQ-CoDel"}).rows
    assert list(row.values()) == ["cubic", "FQ-CoDel", *script["pair"](script["runs"]("quic", sets))]


def test_files_have_the_columns_of_the_script() -> None:
    script: dict[str, Any] = runpy.run_path(str(DOCS / "transports.py"))
    for name, (names, _) in script["TABLES"].items():
        assert list(Table.read(f"{name}.csv").columns) == script["columns"](names)


def test_the_draft_s_cases_for_bbr3_end_as_expected() -> None:
    script: dict[str, Any] = runpy.run_path(str(DOCS / "bbr_cases.py"))
    assert set(script["CASES"]) == {path.stem for path in script["SCENARIOS"].glob("*.toml")}
    rows = {row["case"]: row for row in Table.read("bbr3-cases.csv").rows}
    assert {name: row["expected"] for name, row in rows.items()} == {n: e for n, (e, _) in script["CASES"].items()}
    for name in ("startup-plateau", "drain", "probe-rtt", "slower", "policer"):
        fits, here = script["CASES"][name][1]()
        assert fits and here == rows[name]["measured"], f"{name}: {here}"
