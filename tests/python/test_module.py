"""Modules for unmodified kernels: the lines and folders that are refused, and the names that are linked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sojourn.base.errors import AqmError, InputError, MissingError
from sojourn.engines.kernel import module
from sojourn.engines.kernel.cache import require_gpl_part
from sojourn.model.aqms.crate import write_crate


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("codel@act target 7ms", {"codel"}),
        ("fq(codel@act) flows 16", {"fq", "codel", "droptail"}),
        ("tbf rate 10mbit burst 5kB { fq_codel }", {"tbf", "fq_codel", "droptail"}),
        ("prio { band 1 { pie } }", {"prio", "pie", "droptail"}),
    ],
)
def test_every_discipline_of_a_line_is_linked(line: str, names: set[str]) -> None:
    assert set(module.disciplines(line)) == names


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("coddle", 'unknown AQM "coddle"'),
        ("codel target 5", "has no unit"),
        ("sch_fq", "choose fq_codel"),
        ("netem duplicate 1%", "cannot duplicate"),
    ],
)
def test_a_line_that_no_module_can_have_is_refused(line: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises((InputError, AqmError), match=reason):
        module.build_module(line, tmp_path / "module")
    assert not (tmp_path / "module").exists()


def test_every_file_that_the_sources_include_is_in_the_folder() -> None:
    gpl_part = require_gpl_part()
    sources = [*(gpl_part / name for name in module.SOURCES), *(gpl_part / "module").glob("*.[ch]")]
    folder = {source.name for source in sources} | {"discipline.c", "line.h"}
    # The guest's own header lies one folder up.
    included = {name for source in sources for name in re.findall(r'#include "([^/"]+)"', source.read_text())}
    assert {"host.h", "tc.h"} <= included <= folder


def test_a_folder_that_exists_and_headers_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="already exists"):
        module.build_module("codel", tmp_path)
    with pytest.raises(InputError, match="no prepared kernel"):
        module.build_module("codel", tmp_path / "module", tmp_path)


def test_a_missing_tool_is_named_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingError, match="rustup"):
        module.build_module("codel", tmp_path / "module")
    fake = tmp_path / "bin"
    fake.mkdir()
    for tool, text in (("cargo", "exit 1"), ("rustc", "echo /nowhere")):
        (fake / tool).write_text(f"#!/bin/sh\n{text}\n")
        (fake / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(fake))
    with pytest.raises(MissingError, match="rustup target add wasm32-unknown-unknown"):
        module.build_module("codel", tmp_path / "module")


def test_a_line_of_a_crate_begins_with_its_library(tmp_path: Path) -> None:
    crate = write_crate("late", tmp_path / "late")
    with pytest.raises(InputError, match=r'"codel" does not begin with the crate\'s library; write e\.g\. "late_aqm"'):
        module.build_module("codel", tmp_path / "module", crate=crate)
    with pytest.raises(InputError, match="No such file"):
        module.build_module("late_aqm", tmp_path / "module", crate=tmp_path / "absent")
    source = (
        "import sojourn\n\nclass Mine(sojourn.Aqm):\n    def dequeue(self, cx, queue):\n        return queue.pop()\n"
    )
    (tmp_path / "mine.py").write_text(source)
    with pytest.raises(InputError, match=r"cannot load .*mine\.py:Mine; write it in Rust \(sojourn aqm new\)"):
        module.build_module(f"{tmp_path}/mine.py:Mine", tmp_path / "module")
