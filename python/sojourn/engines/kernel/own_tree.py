"""A user's kernel tree as the source of a build."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from sojourn.base.digests import digest_of
from sojourn.base.errors import InputError
from sojourn.base.files import write_file
from sojourn.engines.kernel.cache import VERSIONS
from sojourn.engines.kernel.source import full_version

BUILT = (".git", "*.o", "*.a", "*.cmd", "*.ko", "*.mod", "*.order", ".config*", ".tmp*", "vmlinux", "System.map")
"""Names that a tree has after a build, and its history; they are not copied."""
SOURCE = "source"
"""File in the folder of kernels with the digest of the tree that they were built from."""


@dataclass(frozen=True)
class OwnTree:
    """A kernel tree of a user."""

    path: Path
    version: str
    """Linux version whose edits apply."""
    digest: str

    @property
    def package(self) -> str:
        """Origin of the source, in a kernel's metadata."""
        return f"{self.path.name} {self.digest}"

    def claim(self, root: Path) -> None:
        """Reserve the folder of kernels for this tree; kernels of an earlier state of it are removed."""
        note = root / SOURCE
        if not note.is_file():
            if root.is_dir() and any(root.iterdir()):
                raise InputError(f"--cache {root}: has kernels of another source; give one of its own")
            root.mkdir(parents=True, exist_ok=True)
        elif note.read_text(encoding="utf-8").strip() != self.digest:
            for kernel in (*root.glob(f"linux-{self.version}-*"), *root.glob(f"tree-{self.version}-*")):
                shutil.rmtree(kernel)
        write_file(note, lambda file: file.write(f"{self.digest}\n".encode()))

    def copy(self, target: Path) -> None:
        """Copy the tree without what a build has left in it."""
        shutil.copytree(self.path, target, symlinks=True, ignore=shutil.ignore_patterns(*BUILT))


def read(path: Path, version: str | None) -> OwnTree:
    """A tree of one of the supported versions, or of one near `version`, whose edits apply; raises `InputError`."""
    try:
        own = ".".join(full_version(path).split(".")[:2])
    except (OSError, KeyError, ValueError):
        raise InputError(f"--source {path}: is not the top folder of a Linux source tree; give that folder") from None
    if version is None and own not in VERSIONS:
        known = ", ".join(VERSIONS)
        raise InputError(f"--source {path}: is Linux {own}; give the --version whose edits it can take: one of {known}")
    digest = digest_of((str(file.relative_to(path)), _contents(file)) for file in _files(path))
    return OwnTree(path, version or own, digest)


def _contents(file: Path) -> bytes:
    return file.read_bytes() if file.is_file() else str(file.readlink()).encode()


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files and links that `copy` copies, in order."""
    for path in sorted(folder.iterdir()):
        if any(fnmatch(path.name, pattern) for pattern in BUILT):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _files(path)
        else:
            yield path
