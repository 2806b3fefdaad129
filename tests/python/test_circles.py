"""Dependencies between a crate's files: no large cycle, few upward imports (see `tests/structure/circles.py`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from circles import Graph, circles, graph_of, upward

ROOT = Path(__file__).parents[2]
LARGEST = 8
"""Maximum number of files in a cycle."""
UPWARD = 20
"""Maximum number of upward imports in a crate."""
CRATES = sorted(path.parent for path in (ROOT / "crates").glob("*/Cargo.toml"))


@pytest.mark.parametrize("crate", CRATES, ids=[crate.name for crate in CRATES])
def test_files_depend_one_way(crate: Path) -> None:
    graph = graph_of(crate)
    large = [one for one in circles(graph) if len(one) > LARGEST]
    assert not large, "move what several of these files share into a file below them"
    assert len(upward(graph)) <= UPWARD


def test_a_circle_is_found() -> None:
    graph: Graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"a"}}
    assert circles(graph) == [["a", "b", "c"]]
    assert len(upward(graph)) == 1
    assert upward({"a": {"b"}, "b": {"d"}, "d": set()}) == []
