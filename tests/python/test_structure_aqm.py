"""Circles between the files of crates/aqm stay as small as they are."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_files_of_aqm_import_downwards() -> None:
    spec = importlib.util.spec_from_file_location("circles", ROOT / "tests/structure/circles.py")
    assert spec is not None and spec.loader is not None
    circles = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(circles)
    graph = circles.graph_of(ROOT / "crates/aqm")
    assert len(graph) > 100
    largest = circles.circles(graph)[0]
    assert len(largest) <= 7, f"{len(largest)} files need each other: {', '.join(largest)}"
    upward = circles.upward(graph)
    assert len(upward) <= 17, f"{len(upward)} imports point upward: {upward}"
