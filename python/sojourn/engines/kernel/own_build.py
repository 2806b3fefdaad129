"""A user's files in the kernel's tree: their folder, and errors of the compiler at the user's lines."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sojourn.base.errors import InputError, MissingError
from sojourn.engines.kernel import cache
from sojourn.engines.kernel.own_files import CONTROL, QDISC, OwnFile

MAX_ERRORS = 5
"""Errors of the compiler that a message shows."""


def digest_of(own: Sequence[OwnFile]) -> str:
    """Digest of a user's files, in any order; empty without files."""
    digests = " ".join(sorted(file.digest for file in own))
    return hashlib.sha256(digests.encode()).hexdigest()[:12] if own else ""


def digests(own: Sequence[OwnFile]) -> dict[str, dict[str, str]]:
    """Digests of the files by name, for a kernel's metadata; nothing without files."""
    kinds = (("qdiscs", QDISC), ("controls", CONTROL)) if own else ()
    return {key: {file.name: file.digest for file in own if file.kind is kind} for key, kind in kinds}


def disciplines(own: Sequence[OwnFile]) -> Iterator[OwnFile]:
    """The files that need a part of tc."""
    return (file for file in own if file.kind is QDISC)


def write(own: Sequence[OwnFile], folder: Path) -> None:
    """Write the files, their headers and their list into the folder of the tree that is compiled."""
    shutil.rmtree(folder)
    folder.mkdir()
    for pattern in cache.QDISC_FILES:
        for path in (cache.require_gpl_part() / cache.OWN).glob(pattern):
            if not path.name.startswith("q_"):
                shutil.copyfile(path, folder / path.name)
    lists = {"qdiscs": QDISC, "controls": CONTROL}
    for file in own:
        # Headers of two files may have one name.
        place = folder / file.stem
        place.mkdir()
        for name, text in file.headers.items():
            (place / name).write_text(text, encoding="utf-8")
        (folder / f"{file.stem}.c").write_text(file.text, encoding="utf-8")
    names = (f"{key} := {' '.join(file.stem for file in own if file.kind is kind)}\n" for key, kind in lists.items())
    (folder / "names.mk").write_text("".join(names), encoding="utf-8")


def explained(own: Sequence[OwnFile], make: Callable[[], None]) -> None:
    """Compile and link; an error in a user's file becomes an `InputError` with its place there."""
    try:
        make()
    except MissingError as error:
        lines = [line for line in str(error).splitlines() if _ERROR.search(line)]
        found = [shown for file in own for line in lines if (shown := _at_users(line, file))]
        if not found:
            raise
        raise InputError("\n  ".join(["the kernel does not take it:", *found[:MAX_ERRORS]])) from None


def _at_users(line: str, file: OwnFile) -> str | None:
    """A line of the compiler or the linker about a file, with the user's path; None if it is about another."""
    compiled = re.search(rf"\S*/own/{file.stem}\.c:(.*)", line)
    if compiled:
        return f"{file.path}:{compiled[1]}"
    header = re.search(rf"\S*/own/{file.stem}/([^:]+:.*)", line)
    if header:
        return f"{file.path.parent / header[1]}"
    linked = re.search(rf"\b{file.stem}\.c:.*?(undefined reference to .*|multiple definition of .*)", line)
    return f"{file.path}: {linked[1]}" if linked else None


_ERROR = re.compile(r"\berror\b|undefined reference|multiple definition")
