"""Files are written completely or not at all, and existing files survive a full disk or a kill."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn.base import files
from sojourn.base.files import new_folder, write_file

PACKAGE = Path(__file__).parents[2] / "python" / "sojourn"
IN_PLACE = re.compile(r"\.write_(text|bytes|csv|parquet)\((?!file|stream)|open\([^)\n]*['\"][wax]b?\+?['\"]")
UNSEEN = {
    "base/files.py": "where files are made whole",
    "model/aqms/crate.py": "a folder that nobody has seen",
    "model/ccs/new.py": "a folder that nobody has seen",
    "engines/emulated/engine.py": "a temporary folder",
    "engines/emulated/node_shell.py": "a temporary folder",
    "engines/emulated/flood.py": "a name of its own, renamed",
    "engines/emulated/programs.py": "a temporary folder, /proc",
    "engines/emulated/shares.py": "a temporary folder",
    "engines/emulated/topology.py": "a temporary folder",
    "figures/data.py": "memory",
    "engines/kernel/module.py": "a new folder",
    "engines/kernel/own_build.py": "the work folder of a build",
    "engines/kernel/own_crates.py": "the work folder of a build",
    "engines/kernel/build.py": "the work folder of a build",
    "engines/kernel/compare.py": "a temporary folder",
    "engines/kernel/guest.py": "a temporary folder",
    "engines/kernel/guest_change.py": "within the guest",
    "engines/kernel/library.py": "the work folder of a build",
    "engines/kernel/patch.py": "a tree that is unpacked anew where this fails",
    "engines/kernel/source.py": "a folder that nobody has seen",
    "apps/lab/native.py": "a temporary folder",
    "apps/lab/server.py": "a temporary folder",
    "engines/ns2/build.py": "a folder that nobody has seen, a temporary folder",
    "engines/ns2/engine.py": "a temporary folder",
    "engines/ns2/process.py": "a temporary folder",
    "io/qlog/files.py": "a folder that nobody has seen",
    "apps/web/addon.py": "a temporary folder",
    "apps/web/names.py": "a temporary folder",
    "studies/gating/program.py": "a temporary folder",
}
"""Modules that write files without `write_file`, and the location of these files."""


def test_files_that_others_see_are_written_whole() -> None:
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if IN_PLACE.search(re.sub(r"write_(file|changed)\(.*", "", path.read_text(encoding="utf-8")))
    }
    assert found == set(UNSEEN), "use write_file, or say here where it writes"


def test_a_replaced_file_stays_until_the_new_one_exists(tmp_path: Path) -> None:
    target = tmp_path / "figure [1].svg"
    write_file(target, lambda file: file.write(b"old"))
    seen: list[object] = []

    def fails(file: object) -> None:
        seen.append(target.read_bytes())
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_file(target, fails)
    assert (seen, target.read_bytes(), len(list(tmp_path.iterdir()))) == ([b"old"], b"old", 1)


def test_a_folder_that_is_replaced_comes_back_if_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "qlog"
    with new_folder(place) as part:
        (part / "file").write_text("old")
    rename = Path.rename

    def fails(self: Path, to: Path) -> Path:
        if self.name.endswith(".part"):
            raise OSError(28, "No space left on device")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(OSError, match="No space"), new_folder(place, replace=True) as part:
        (part / "file").write_text("new")
    assert ((place / "file").read_text(), [path.name for path in tmp_path.iterdir()]) == ("old", ["qlog"])
    monkeypatch.undo()
    with new_folder(place, replace=True) as part:
        (part / "file").write_text("new")
    assert ((place / "file").read_text(), [path.name for path in tmp_path.iterdir()]) == ("new", ["qlog"])


def test_leftovers_of_a_killed_process_are_removed_by_the_next_write(tmp_path: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
from sojourn.base import files
with files._unfinished(Path(sys.argv[1]), Path.touch):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    for name in ("a*b.svg", "a.b.svg"):
        subprocess.run([sys.executable, "-c", code, str(tmp_path / name)], check=False)
    others = {path.name for path in tmp_path.iterdir() if "a.b" in path.name}
    living = f".a*b.svg.{files._HOST}.{os.getppid()}.part"
    (tmp_path / living).touch()
    assert len(list(tmp_path.iterdir())) == 3
    write_file(tmp_path / "a*b.svg", lambda file: file.write(b"whole"))
    assert {path.name for path in tmp_path.iterdir()} == {"a*b.svg", living, *others}
