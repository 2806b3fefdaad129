"""No file of Rust tests is left out: a crate whose tests are one program names all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tomlkit

from conftest import REPO

PROGRAMS = sorted(REPO.glob("crates/**/tests/all.rs"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.parents[1].name)
def test_every_file_of_tests_is_built(program: Path) -> None:
    manifest = tomlkit.parse((program.parents[1] / "Cargo.toml").read_text("utf-8"))
    alone = {test["name"] for test in manifest["test"]}
    parts = set(re.findall(r"^mod (\w+);", program.read_text("utf-8"), re.MULTILINE))
    folder = program.parent
    assert {file.stem for file in folder.glob("*.rs")} <= alone | parts
    assert {file.parent.name for file in folder.glob("*/main.rs")} <= alone


def test_crates_with_many_tests_link_them_once() -> None:
    assert {program.parents[1].name for program in PROGRAMS} >= {"aqm", "capi", "net", "sim", "tcp"}
