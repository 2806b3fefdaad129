"""The kernel's source, from the machine's package manager."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from sojourn.base.errors import MissingError

LEFT_OUT = ("*.rst", "*.dts*", "*/asic_reg/*")
"""Files that no build here reads: a third of the tree."""

Run = Callable[[list[str], Path], str]
"""Runs a command in a folder and returns what it printed; raises `MissingError` with its last lines."""


def version_file(version: str, place: Path) -> Path:
    """Where the version of the source package in `place` is written."""
    return place / f"linux-source-{version}.version"


def fetch(version: str, place: Path, run: Run) -> Path:
    """Download the source package into `place`, unless it is there; the archive of the source in it."""
    name = f"linux-source-{version}"
    archive = place / f"{name}.tar.xz"
    if archive.exists() and version_file(version, place).exists():
        return archive
    place.mkdir(parents=True, exist_ok=True)
    part = place / "package"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    try:
        run(["apt-get", "download", name], part)
    except MissingError as error:
        remedy = "is the package server reachable, and does the system have this package (apt-get update)?"
        raise MissingError(f"{name}: cannot be downloaded; {remedy}\n  {error}") from None
    [package] = part.glob("*.deb")
    run(["dpkg-deb", "-x", package.name, "."], part)
    (part / "usr" / "src" / archive.name).rename(archive)
    version_file(version, place).write_text(package.name.split("_")[1] + "\n")
    shutil.rmtree(part)
    return archive


def unpack(archive: Path, tree: Path, run: Run) -> None:
    """Unpack the source into `tree`."""
    part = tree.with_name(f"{tree.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    leave_out = [f"--exclude={pattern}" for pattern in LEFT_OUT]
    run(["tar", "-xJf", str(archive), "--strip-components=1", *leave_out], part)
    part.rename(tree)


def full_version(tree: Path) -> str:
    """Version of Linux in its Makefile: 6.1.192."""
    lines = (tree / "Makefile").read_text(encoding="utf-8").splitlines()[:6]
    values = dict(line.replace(" ", "").split("=", 1) for line in lines if "=" in line)
    return ".".join(values[key] for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL")) + values.get("EXTRAVERSION", "")
