"""Sources of a user in a build: their folder in the tree, and errors of the compiler at the user's lines."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn.base.errors import InputError, MissingError
from sojourn.engines.kernel import cache, library, own_crates
from sojourn.engines.kernel.own_crates import OwnCrate
from sojourn.engines.kernel.own_files import KINDS, OwnFile
from sojourn.engines.kernel.own_tree import OwnTree

MAX_ERRORS = 5
"""Errors of the compiler that a message shows."""


@dataclass(frozen=True)
class Additions:
    """Sources of a user that a kernel is built with."""

    files: Sequence[OwnFile] = ()
    crates: Sequence[OwnCrate] = ()
    tree: OwnTree | None = None
    """A kernel tree in place of the distribution's source."""

    @property
    def digest(self) -> str:
        """Digest of files and crates, in any order; empty without any."""
        digests = sorted([*(file.digest for file in self.files), *(crate.digest for crate in self.crates)])
        return hashlib.sha256(" ".join(digests).encode()).hexdigest()[:12] if digests else ""

    @property
    def metadata(self) -> dict[str, dict[str, str]]:
        """Digests by name, for a kernel's metadata; nothing without files and crates."""
        if not self.digest:
            return {}
        found = {kind.key: {file.name: file.digest for file in self.files if file.kind is kind} for kind in KINDS}
        return {**found, "crates": {crate.library: crate.digest for crate in self.crates}}

    def object_file(self, work: Path) -> Path:
        """Object file with the queue managers, made in the folder `work`."""
        return own_crates.make(self.crates, work) if self.crates else library.make(work)


NOTHING = Additions()


def write(own: Sequence[OwnFile], folder: Path) -> None:
    """Write the files, their headers and their list into the folder of the tree that is compiled."""
    shutil.rmtree(folder)
    folder.mkdir()
    for pattern in cache.QDISC_FILES:
        for path in (cache.require_gpl_part() / cache.OWN).glob(pattern):
            if not path.name.startswith("q_"):
                shutil.copyfile(path, folder / path.name)
    for file in own:
        # Headers of two files may have one name.
        place = folder / file.stem
        place.mkdir()
        for name, text in file.headers.items():
            (place / name).write_text(text, encoding="utf-8")
        (folder / f"{file.stem}.c").write_text(file.text, encoding="utf-8")
    names = (f"{kind.key} := {' '.join(file.stem for file in own if file.kind is kind)}\n" for kind in KINDS)
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
