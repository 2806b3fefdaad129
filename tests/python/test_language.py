"""Comments, docstrings and documents use the field's words: no directory has more marks than the level it reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from commits import faults_of
from language import files_of, marks_of, rate_of

ROOT = Path(__file__).parents[2]
TOP = ":(glob)*.md"
LEVELS = {
    TOP: 1.5,
    "bench": 1.2,
    "crates/aqm": 1.2,
    "crates/capi": 1.5,
    "crates/emu": 0.5,
    "crates/gym": 1.6,
    "crates/library": 0.5,
    "crates/media": 0.5,
    "crates/module": 0.5,
    "crates/net": 0.5,
    "crates/py": 2.0,
    "crates/qdisc": 0.5,
    "crates/sim": 1.2,
    "crates/tcp": 1.2,
    "crates/web": 1.0,
    "docs": 0.8,
    "examples": 0.5,
    "packages": 0.5,
    "python": 1.3,
    "tests": 1.3,
    "web": 1.8,
}
"""Marks per 1,000 words of prose below a directory (`tests/structure/language.py`); lower one when it falls."""


@pytest.mark.parametrize("path", LEVELS)
def test_no_directory_falls_behind_its_level(path: str) -> None:
    rate, found = rate_of(ROOT, path)
    assert rate <= LEVELS[path], "\n".join(f"{mark.file}:{mark.line}: {mark.pattern}: {mark.text}" for mark in found)


def test_every_file_with_prose_has_a_level() -> None:
    folders = tuple(f"{path}/" for path in LEVELS)
    assert [name for name in files_of(ROOT) if "/" in name and not name.startswith(folders)] == []


def test_marks_are_found_in_prose_alone() -> None:
    rust = '/// What it is told.\nlet told = "who stands"; // nobody reads it\n'
    assert marks_of("a.rs", rust)[0] == 7
    assert [mark.pattern for mark in marks_of("a.rs", rust)[1]] == ["opens with a pronoun", "told, tells", "nobody"]
    python = 'def told():\n    """Return the packet of which\n    it is made."""\n    heard = 1  # anew\n'
    assert [mark.line for mark in marks_of("a.py", python)[1]] == [2, 4]
    page = "The queue, where there is one.\n```\nWhat is told\n```\n| What | told |\n"
    assert [mark.pattern for mark in marks_of("a.md", page)[1]] == ["where for if or when"]
    assert marks_of("a.md", "The packets are told apart; who sent them?\n")[1] == []


@pytest.mark.parametrize(
    ("subject", "faults"),
    [
        ("tcp: specialise the ACK path for in-order data", 0),
        ("emu, sim, tests: say in plain words what moved items are", 0),
        ("tcp: follow RFC 8985 in linux-6.1's timers", 0),
        ("aqm: bound dualpi2's step by 1500 bytes", 1),
        ("docs: 207 of 216 cells agree", 2),
        ("tcp: added a timer", 1),
        ("Add a timer", 1),
        ("sim: " + "make it longer " * 5, 2),
    ],
)
def test_subjects_of_commits(subject: str, faults: int) -> None:
    assert len(list(faults_of(subject))) == faults, subject
