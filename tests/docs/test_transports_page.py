"""The tables of transports.md are what its script measures."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "docs"


def test_rows_are_what_the_script_measures() -> None:
    script: dict[str, Any] = runpy.run_path(str(FOLDER / "transports.py"))
    page = (FOLDER / "transports.md").read_text(encoding="utf-8")
    for row in script["bbr"]():
        assert f"| {' | '.join(row)} |" in page, "run: python docs/transports.py"
    sets = {"flows.0.cc": "cubic", "flows.1.cc": "cubic", "link.aqm": "fq_codel"}
    row = ("`cubic`", "FQ-CoDel", *script["pair"](script["runs"]("quic", sets)))
    assert f"| {' | '.join(row)} |" in page


def test_the_draft_s_cases_for_bbr3_end_as_expected() -> None:
    script: dict[str, Any] = runpy.run_path(str(FOLDER / "bbr_cases.py"))
    assert set(script["CASES"]) == {path.stem for path in script["SCENARIOS"].glob("*.toml")}
    page = (FOLDER / "transports.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in script["CASES"])
    for name in ("startup-plateau", "drain", "probe-rtt", "slower", "policer"):
        fits, here = script["CASES"][name][1]()
        assert fits, f"{name}: {here}"
