"""Scenarios and studies shipped with Sojourn: their list, and copies as a starting point."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from sojourn.base.errors import InputError, known_name
from sojourn.base.files import write_file
from sojourn.base.inputs import parse_toml, read_text


@dataclass(frozen=True)
class Example:
    """A file shipped with Sojourn."""

    name: str
    """Path without the suffix, relative to the examples' folder, e.g. `score/bidir`."""
    about: str
    """First sentence of the file."""
    command: str
    """Command that runs it: `run`, or `sweep` for a study."""


@contextmanager
def shipped() -> Iterator[Path]:
    """Folder of the files."""
    with as_file(files("sojourn.model.scenarios") / "shipped") as folder:
        yield folder


def examples() -> list[Example]:
    """All examples by name; those in subfolders last."""
    with shipped() as folder:
        paths = sorted(folder.rglob("*.toml"), key=lambda path: (path.parent != folder, path))
        found = [_example(path, path.relative_to(folder).with_suffix("").as_posix()) for path in paths]
        return [one for one in found if one is not None]


def named(name: str) -> Example:
    """Example of this name. Raises `InputError` if there is none."""
    known = {one.name: one for one in examples()}
    return known[known_name("example", name, known)]


def text_of(example: Example) -> str:
    """Content of its file."""
    with shipped() as folder:
        return read_text(folder / f"{example.name}.toml")


def write_example(example: Example, target: Path) -> list[Path]:
    """Copy the example and the files that it needs to `target`'s folder. Returns the written files.

    Raises `InputError` if one of them exists already; nothing is written then.
    """
    with shipped() as folder:
        own = folder / f"{example.name}.toml"
        base = parse_toml(read_text(own)).get("extends")
        beside = [*(path for path in sorted(own.parent.glob(f"{own.stem}.*")) if path != own)]
        beside += [own.parent / base] if base else []
        copies = {own: target} | {path: target.parent / path.name for path in beside}
        copies = {path: copy for path, copy in copies.items() if path == own or not _is_there(path, copy)}
        for copy in copies.values():
            refuse_existing(copy)
        return [_copy(path, copy) for path, copy in copies.items()]


def refuse_existing(path: Path) -> None:
    """Raise `InputError` if the file exists."""
    if path.exists():
        raise InputError(f"{path}: already exists; choose another name")


def _is_there(path: Path, copy: Path) -> bool:
    """Whether an identical copy exists already."""
    return copy.is_file() and copy.read_bytes() == path.read_bytes()


def _copy(path: Path, copy: Path) -> Path:
    return write_file(copy, lambda file: file.write(path.read_bytes()))


def _example(path: Path, name: str) -> Example | None:
    """The example in a file; None if the file is only a base for others."""
    text = read_text(path)
    document = parse_toml(text)
    if "flows" not in document:
        return None
    return Example(name, _about(text), "sweep" if document.keys() & {"sweep", "extends"} else "run")


def _about(text: str) -> str:
    """First sentence of the comment at the start of a file."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    sentence, stop, _ = " ".join(lines).partition(". ")
    return sentence + stop.strip()
