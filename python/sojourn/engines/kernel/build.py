"""From a source package to a kernel that can run, in steps of which a build that was interrupted does the rest."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sojourn.base.commands import run_command
from sojourn.base.errors import InputError, MissingError
from sojourn.base.files import new_folder
from sojourn.engines.kernel import cache, needs, selftest
from sojourn.engines.kernel.cache import Kernel
from sojourn.engines.kernel.patch import apply_edits, read_edits
from sojourn.engines.kernel.source import fetch, full_version, unpack, version_file

Progress = Callable[[float, str], None]
"""Called with the share of the work done, from 0 to 1, and what is being done."""

# One source, one binary: the version string feeds the kernel's generator of random numbers.
STAMP = {"KBUILD_BUILD_TIMESTAMP": "2026-01-01", "KBUILD_BUILD_USER": "sojourn", "KBUILD_BUILD_HOST": "sojourn"}
OBJECTS = 900
"""About how many files are compiled, for the progress only."""


@dataclass(frozen=True)
class Place:
    """Where a build goes on."""

    version: str
    root: Path

    @property
    def packages(self) -> Path:
        """Folder of what was downloaded."""
        return self.root / "packages"

    @property
    def work(self) -> Path:
        """Folder of the build, which is kept until it is finished."""
        return self.root / f"work-{self.version}-{cache.recipe()}"

    @property
    def tree(self) -> Path:
        """The kernel's source."""
        return self.work / "linux"

    @property
    def done(self) -> Path:
        """Folder of the finished kernel."""
        return cache.folder_of(self.version, self.root)


def build(version: str, root: Path, *, jobs: int | None = None, progress: Progress | None = None) -> Kernel:
    """Build a kernel unless it is built, and try it; what a build that was interrupted has done is kept."""
    if version not in cache.VERSIONS:
        raise InputError(f"--version: {version} is unknown; there is {', '.join(cache.VERSIONS)}")
    tell = progress or (lambda _share, _what: None)
    cache.needed_gpl_part()
    if found := cache.find(version, root):
        return found
    place = Place(version, root)
    needs.refuse(needs.missing(root), "this machine")
    place.work.mkdir(parents=True, exist_ok=True)
    guest = cache.INGREDIENTS
    with _alone(place.work):
        steps: list[tuple[float, str, Callable[[], None]]] = [
            (0.00, "fetching the source", lambda: _prepare(place)),
            (0.12, "configuring", lambda: _configure(place, guest)),
            (0.15, "compiling", lambda: _compile(place, jobs or os.cpu_count() or 1, tell)),
            (0.97, "compiling the guest's program", lambda: _program(place, guest)),
        ]
        for share, what, step in steps:
            tell(share, what)
            _once(place.work, what, step)
        tell(0.98, "trying it")
        kernel = _assemble(place)
    shutil.rmtree(place.work)
    tell(1.0, "built")
    return kernel


@contextmanager
def _alone(work: Path) -> Any:
    """Keep a second build out of the same folder."""
    import fcntl

    with (work / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise MissingError(
                f"{work}: another build is going on there; wait for it, or give another --cache"
            ) from None
        yield


def _once(work: Path, what: str, step: Callable[[], None]) -> None:
    """Do a step unless an earlier build has finished it."""
    stamp = work / f"{what.replace(' ', '-')}.done"
    if not stamp.exists():
        step()
        stamp.touch()


def _prepare(place: Place) -> None:
    """A tree that was half edited is unpacked again."""
    archive = fetch(place.version, place.packages, run_command)
    shutil.rmtree(place.tree, ignore_errors=True)
    unpack(archive, place.tree, run_command)
    ours = cache.needed_gpl_part()
    edits = (ours / "edits.toml").read_text(encoding="utf-8")
    apply_edits(read_edits(edits, place.version), place.tree)
    links = place.tree / "drivers" / "net" / "sojourn"
    links.mkdir()
    for path in [ours / "Makefile", *ours.glob("*.[ch]")]:
        shutil.copyfile(path, links / path.name)


def _configure(place: Place, guest: Path) -> None:
    texts = [
        path.read_text(encoding="utf-8")
        for name in ("config", f"config-{place.version}")
        if (path := guest / name).exists()
    ]
    wanted = place.work / "config"
    wanted.write_text("".join(texts), encoding="utf-8")
    _make(place, f"KCONFIG_ALLCONFIG={wanted}", "allnoconfig")
    lines = set((place.tree / ".config").read_text(encoding="utf-8").splitlines())
    for option in re.findall(r"^CONFIG_\S+$", wanted.read_text(encoding="utf-8"), re.MULTILINE):
        if option not in lines:
            raise MissingError(f"{option}: this source does not take it; it cannot be used")


def _make(place: Place, *words: str) -> None:
    run_command(["make", "-s", "ARCH=um", *words], place.tree, environment=os.environ | STAMP)


def _compile(place: Place, jobs: int, tell: Progress) -> None:
    """Compile; what was compiled before an interruption is not compiled again."""
    with (place.work / "make.log").open("w+") as log:
        command = ["make", "ARCH=um", f"-j{jobs}", "linux"]
        pipe = subprocess.PIPE
        make = subprocess.Popen(
            command,
            cwd=place.tree,
            env=os.environ | STAMP,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=log,
            text=True,
            start_new_session=True,
        )
        assert make.stdout is not None
        try:
            _follow(make.stdout, tell)
        except BaseException:
            os.killpg(make.pid, 15)
            raise
        finally:
            make.wait()
            make.stdout.close()
        if make.returncode:
            raise MissingError(_why(log))


def _follow(lines: IO[str], tell: Progress) -> None:
    for number, line in enumerate(lines):
        if number % 10 == 0:
            tell(0.15 + 0.81 * min(number / OBJECTS, 1), f"compiling {line.split()[-1] if line.split() else ''}")


def _why(log: IO[str]) -> str:
    """Errors in what make said."""
    log.seek(0)
    lines = [line.rstrip() for line in log]
    errors = [line for line in lines if "error" in line.lower() or "No space left" in line] or lines[-8:]
    return "\n  ".join(["the kernel cannot be compiled:", *errors[:8]])


def _program(place: Place, guest: Path) -> None:
    sources = sorted(str(path) for path in (guest / "tool").glob("*.c"))
    run_command(["gcc", "-O2", "-Wall", "-Wextra", "-static", "-o", str(place.work / "guest"), *sources], place.work)


def _assemble(place: Place) -> Kernel:
    """Put the kernel where it is found, if it passes its test."""
    with new_folder(place.done) as part:
        run_command(["strip", "-o", str(part / "linux"), str(place.tree / "linux")], place.work)
        shutil.copy(place.work / "guest", part / "guest")
        shutil.copy(place.tree / ".config", part / "config")
        digest = hashlib.sha256((part / "linux").read_bytes() + (part / "guest").read_bytes()).hexdigest()[:12]
        kernel = Kernel(part / "linux", part / "guest", full_version(place.tree), digest)
        selftest.run(kernel)
        compiler = run_command(["gcc", "--version"], place.work).splitlines()[0]
        package = version_file(place.version, place.packages).read_text().strip()
        about = {"linux": kernel.version, "digest": digest, "package": package, "compiler": compiler}
        (part / cache.ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return cache.built(place.version, place.root)
