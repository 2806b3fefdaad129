"""Download of the kernel's source by the machine's package manager.

A version that the machine's release lacks comes from another suite of Debian. For it apt gets its own state folder, so
that the machine's sources.list stays unchanged; signature and hash are checked as usual.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from sojourn.base.errors import MissingError
from sojourn.base.files import new_folder, write_file

LEFT_OUT = ("*.rst", "*.dts*", "*/asic_reg/*")
"""Files that are not needed for our builds, a third of the tree."""

SUITES = {"7.3": "trixie-backports"}
"""Debian suite by Linux version, for versions that the machine's own sources may lack."""
ARCHIVE = "http://deb.debian.org/debian"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

Run = Callable[[list[str], Path], str]
"""Runs a command in a folder and returns its stdout; raises `MissingError` with its last lines."""


def version_file(version: str, place: Path) -> Path:
    """File with the version of the source package in `place`."""
    return place / f"linux-source-{version}.version"


def fetch(version: str, place: Path, run: Run) -> Path:
    """Download the source package into `place`, unless it exists; returns the source archive."""
    name = f"linux-source-{version}"
    archive = place / f"{name}.tar.xz"
    if archive.exists() and version_file(version, place).exists():
        return archive
    place.mkdir(parents=True, exist_ok=True)
    part = place / "package"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    try:
        options = _other_suite(SUITES[version], part / "apt", run) if version in SUITES else []
        run(["apt-get", *options, "download", name], part)
    except MissingError as error:
        remedy = "is the package server reachable, and does the system have this package (apt-get update)?"
        if version in SUITES:
            remedy = f"is the package server reachable, and is it still in {SUITES[version]} of Debian?"
        raise MissingError(f"{name}: cannot be downloaded; {remedy}\n  {error}") from None
    [package] = part.glob("*.deb")
    run(["dpkg-deb", "-x", package.name, "."], part)
    (part / "usr" / "src" / archive.name).rename(archive)
    text = package.name.split("_")[1] + "\n"
    write_file(version_file(version, place), lambda file: file.write(text.encode()))
    shutil.rmtree(part)
    return archive


def _other_suite(suite: str, state: Path, run: Run) -> list[str]:
    """Run `apt-get update` for one suite with the state folder `state`; returns apt's options for it."""
    if not KEYRING.exists():
        raise MissingError(f"{KEYRING}: not found; install the package debian-archive-keyring")
    for folder in ("lists/partial", "cache/archives/partial"):
        (state / folder).mkdir(parents=True)
    (state / "status").touch()
    (state / "sources.list").write_text(f"deb [arch=amd64 signed-by={KEYRING}] {ARCHIVE} {suite} main\n")
    settings = {
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State": state,
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
        "Acquire::Languages": "none",
    }
    # Disable the machine's update hooks.
    hooks = [f"#clear APT::Update::{hook};\n" for hook in ("Pre-Invoke", "Post-Invoke", "Post-Invoke-Success")]
    (state / "apt.conf").write_text("".join([*(f'{key} "{value}";\n' for key, value in settings.items()), *hooks]))
    options = ["-c", str(state / "apt.conf")]
    run(["apt-get", *options, "update"], state)
    return options


def unpack(archive: Path, tree: Path, run: Run) -> None:
    """Unpack the source into `tree`."""
    leave_out = [f"--exclude={pattern}" for pattern in LEFT_OUT]
    with new_folder(tree) as part:
        run(["tar", "-xJf", str(archive), "--strip-components=1", *leave_out], part)


def full_version(tree: Path) -> str:
    """Linux version in the Makefile, such as 6.1.192."""
    lines = (tree / "Makefile").read_text(encoding="utf-8").splitlines()[:6]
    values = dict(line.replace(" ", "").split("=", 1) for line in lines if "=" in line)
    return ".".join(values[key] for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL")) + values.get("EXTRAVERSION", "")
