"""Figures of the site, drawn by the commands of the pages and cached by a hash of their inputs."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path

import sojourn
from documents import ROOT, Section, checkout, run

STORE = ROOT / ".site-cache"


def drawn(section: Section, stored_only: bool = False) -> dict[str, Path]:
    """Return the files of a section's figures, by the paths in its commands.

    Runs the commands if the figures are not cached; with `stored_only` the result is empty then.
    Raises `ValueError` if a command fails or a figure is not drawn.
    """
    folder = STORE / key(section)
    if not folder.is_dir() and not stored_only:
        draw(section, folder)
    return {path: folder / name(path) for path in section.figures} if folder.is_dir() else {}


def draw(section: Section, folder: Path) -> None:
    """Run the commands of a section and store its figures in a folder."""
    STORE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=STORE) as scratch:
        inside = checkout(Path(scratch))
        for step in section.steps:
            ran = run(step, inside)
            if not step.may_end_with(ran.returncode):
                raise ValueError(f"{section.name}: {step.text}\nended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
        found = Path(scratch) / "found"
        found.mkdir()
        for path in section.figures:
            if not (inside / path).is_file():
                raise ValueError(f"{section.name}: no command has drawn {path}")
            shutil.copyfile(inside / path, found / name(path))
        found.rename(folder)


def name(path: str) -> str:
    """Return the name of a figure in the cache."""
    return path.replace("/", "-")


def key(section: Section) -> str:
    """Return a hash of the figures' inputs: the commands, files named in them, and the program."""
    text = "\n".join(step.text for step in section.steps)
    content = hashlib.sha256("\n".join([text, *section.figures, program()]).encode())
    for path in sorted(named_files(text, ROOT)):
        content.update(path.relative_to(ROOT).as_posix().encode())
        content.update(path.read_bytes())
    return content.hexdigest()[:24]


def named_files(text: str, folder: Path) -> set[Path]:
    """Return the files of a folder that a text names, and those named in its scenarios."""
    named = {folder / word for word in re.findall(r"[\w./-]+\.\w+", text) if (folder / word).is_file()}
    scenarios = [path for path in named if path.suffix == ".toml"]
    return named.union(*(named_files(path.read_text(encoding="utf-8"), path.parent) for path in scenarios))


@cache
def program() -> str:
    """Return a hash of the installed package: its modules, its data and the extension."""
    folder = Path(sojourn.__file__).parent
    content = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        content.update(path.relative_to(folder).as_posix().encode())
        content.update(path.read_bytes())
    return content.hexdigest()


def forget(kept: set[str]) -> None:
    """Remove unused figures from the cache; `kept` has the keys of all sections."""
    for path in STORE.iterdir() if STORE.is_dir() else ():
        if path.name not in (*kept, "papers"):
            shutil.rmtree(path)
